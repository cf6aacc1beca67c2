// What optimizers do to the rows of a variable and of its slots, and additions to rows, in one pass over those rows.
//
// The formulas are those of headrace/ops/training/formulas.py, in the same order of operations. A row that is named
// twice is updated twice, one after the other.

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "export.h"
#include "parallel.h"

namespace {

#define INLINE inline __attribute__((always_inline))

// NumPy's sign, minimum and maximum: a NaN stays one.
template <typename T>
INLINE T sign(T x) {
  return x > 0 ? T(1) : x < 0 ? T(-1) : x == 0 ? T(0) : x;
}
template <typename T>
INLINE T greater(T a, T b) {
  return a >= b || a != a ? a : b;
}
template <typename T>
INLINE T lesser(T a, T b) {
  return a <= b || a != a ? a : b;
}
template <typename T>
INLINE T shrunk(T x, T by, bool positive) {
  return positive ? sign(x) * greater(std::fabs(x) - by, T(0)) : x;
}

template <typename T>
struct Rows {
  T* const* tables;  // the variable, then its slots
  int64_t width;
  int64_t n;
  const void* indices;
  int64_t index_size;
  const T* grads;

  INLINE int64_t at(int64_t i) const {
    return index_size == 4 ? static_cast<const int32_t*>(indices)[i] : static_cast<const int64_t*>(indices)[i];
  }
};

// Rows lie anywhere in tables that fit no cache: they are asked for some rows ahead.
constexpr int64_t kAhead = 12, kLine = 64;

template <int Tables, typename T>
INLINE void ask_for(const Rows<T>& of, int64_t i) {
  if (i >= of.n) return;
  const int64_t row = of.at(i) * of.width;
  const int64_t bytes = of.width * static_cast<int64_t>(sizeof(T));
  for (int k = 0; k < Tables; ++k) {
    const char* from = reinterpret_cast<const char*>(of.tables[k] + row);
    for (int64_t at = 0; at < bytes && at < 8 * kLine; at += kLine) __builtin_prefetch(from + at, 1);
  }
}

template <int Tables, typename T>
INLINE void ask_for_first(const Rows<T>& of) {
  for (int64_t i = 0; i < kAhead; ++i) ask_for<Tables>(of, i);
}

template <typename T, typename Step>
INLINE void with_none(const Rows<T>& of, const Step& step) {
  ask_for_first<1>(of);
  for (int64_t i = 0; i < of.n; ++i) {
    ask_for<1>(of, i + kAhead);
    const int64_t row = of.at(i) * of.width;
    T* __restrict__ v = of.tables[0] + row;
    const T* __restrict__ g = of.grads + i * of.width;
    for (int64_t j = 0; j < of.width; ++j) step(v[j], g[j]);
  }
}

template <typename T, typename Step>
INLINE void with_one(const Rows<T>& of, const Step& step) {
  ask_for_first<2>(of);
  for (int64_t i = 0; i < of.n; ++i) {
    ask_for<2>(of, i + kAhead);
    const int64_t row = of.at(i) * of.width;
    T* __restrict__ v = of.tables[0] + row;
    T* __restrict__ a = of.tables[1] + row;
    const T* __restrict__ g = of.grads + i * of.width;
    for (int64_t j = 0; j < of.width; ++j) step(v[j], a[j], g[j]);
  }
}

template <typename T, typename Step>
INLINE void with_two(const Rows<T>& of, const Step& step) {
  ask_for_first<3>(of);
  for (int64_t i = 0; i < of.n; ++i) {
    ask_for<3>(of, i + kAhead);
    const int64_t row = of.at(i) * of.width;
    T* __restrict__ v = of.tables[0] + row;
    T* __restrict__ a = of.tables[1] + row;
    T* __restrict__ b = of.tables[2] + row;
    const T* __restrict__ g = of.grads + i * of.width;
    for (int64_t j = 0; j < of.width; ++j) step(v[j], a[j], b[j], g[j]);
  }
}

template <typename T, typename Step>
INLINE void with_three(const Rows<T>& of, const Step& step) {
  ask_for_first<4>(of);
  for (int64_t i = 0; i < of.n; ++i) {
    ask_for<4>(of, i + kAhead);
    const int64_t row = of.at(i) * of.width;
    T* __restrict__ v = of.tables[0] + row;
    T* __restrict__ a = of.tables[1] + row;
    T* __restrict__ b = of.tables[2] + row;
    T* __restrict__ c = of.tables[3] + row;
    const T* __restrict__ g = of.grads + i * of.width;
    for (int64_t j = 0; j < of.width; ++j) step(v[j], a[j], b[j], c[j], g[j]);
  }
}

template <typename T, typename Power>
INLINE void ftrl(const Rows<T>& of, const T* s, T shrinkage, bool shrinks, const Power& power) {
  const T lr = s[0], l1 = s[1], l2 = s[2];
  with_two(of, [=](T& v, T& accum, T& linear, T g) {
    const T total = accum + g * g;
    const T before = power(accum), after = power(total);
    const T moved = shrinks ? g + 2 * shrinkage * v : g;
    linear = linear + moved - (after - before) / lr * v;
    accum = total;
    v = (lesser(greater(linear, -l1), l1) - linear) / (after / lr + 2 * l2);
  });
}

// The numbers of headrace/native/updates.py: UPDATES, then those of WHOLE that have no rows.
enum Kind {
  kProximalGradientDescent,
  kMomentum,
  kKerasMomentum,
  kAdagrad,
  kAdagradV2,
  kAdagradDA,
  kProximalAdagrad,
  kAdadelta,
  kRMSProp,
  kCenteredRMSProp,
  kFtrl,
  kFtrlV2,
  kGradientDescent,
  kAdam,
};

// `s` has the scalars in the order of the op's operands, `flag` is use_nesterov or update_slots.
template <typename T>
INLINE int64_t update(int64_t kind, const Rows<T>& of, const T* s, bool flag) {
  switch (kind) {
    case kProximalGradientDescent:
      with_none(of, [alpha = s[0], l1 = s[1], l2 = s[2]](T& v, T g) {
        v = shrunk(v - alpha * g, alpha * l1, l1 > 0) / (1 + l2 * alpha);
      });
      return 0;
    case kMomentum:
      with_one(of, [lr = s[0], momentum = s[1], flag](T& v, T& a, T g) {
        a = a * momentum + g;
        v = v - lr * (flag ? g + a * momentum : a);
      });
      return 0;
    case kKerasMomentum:
      with_one(of, [lr = s[0], momentum = s[1], flag](T& v, T& a, T g) {
        a = a * momentum - lr * g;
        v = v + (flag ? a * momentum - lr * g : a);
      });
      return 0;
    case kAdagrad:
      with_one(of, [lr = s[0], flag](T& v, T& a, T g) {
        a = flag ? a + g * g : a;
        v = v - lr * g / std::sqrt(a);
      });
      return 0;
    case kAdagradV2:
      with_one(of, [lr = s[0], epsilon = s[1], flag](T& v, T& a, T g) {
        a = flag ? a + g * g : a;
        v = v - lr * g / (std::sqrt(a) + epsilon);
      });
      return 0;
    case kAdagradDA:
      with_two(of, [lr = s[0], l1 = s[1], l2 = s[2], step = s[3]](T& v, T& sum, T& squares, T g) {
        sum = sum + g;
        squares = squares + g * g;
        v = -lr * shrunk(sum, l1 * step, l1 > 0) / (l2 * step * lr + std::sqrt(squares));
      });
      return 0;
    case kProximalAdagrad:
      with_one(of, [lr = s[0], l1 = s[1], l2 = s[2]](T& v, T& a, T g) {
        a = a + g * g;
        const T rate = lr / std::sqrt(a);
        v = shrunk(v - rate * g, rate * l1, l1 > 0) / (1 + l2 * rate);
      });
      return 0;
    case kAdadelta:
      with_two(of, [lr = s[0], rho = s[1], epsilon = s[2]](T& v, T& a, T& u, T g) {
        a = a * rho + g * g * (1 - rho);
        const T step = std::sqrt(u + epsilon) / std::sqrt(a + epsilon) * g;
        v = v - lr * step;
        u = u * rho + step * step * (1 - rho);
      });
      return 0;
    case kRMSProp:
      with_two(of, [lr = s[0], rho = s[1], momentum = s[2], epsilon = s[3]](T& v, T& ms, T& mom, T g) {
        ms = ms + (g * g - ms) * (1 - rho);
        mom = mom * momentum + lr * g / std::sqrt(ms + epsilon);
        v = v - mom;
      });
      return 0;
    case kCenteredRMSProp:
      with_three(of, [lr = s[0], rho = s[1], momentum = s[2], epsilon = s[3]](T& v, T& mg, T& ms, T& mom, T g) {
        ms = ms + (g * g - ms) * (1 - rho);
        mg = mg + (g - mg) * (1 - rho);
        mom = mom * momentum + lr * g / std::sqrt(ms - mg * mg + epsilon);
        v = v - mom;
      });
      return 0;
    case kFtrl:
    case kFtrlV2: {
      const bool shrinks = kind == kFtrlV2;
      const T shrinkage = shrinks ? s[3] : T(0), power = -s[shrinks ? 4 : 3];
      if (power == T(0.5)) {
        ftrl(of, s, shrinkage, shrinks, [](T x) { return std::sqrt(x); });
      } else {
        ftrl(of, s, shrinkage, shrinks, [power](T x) { return std::pow(x, power); });
      }
      return 0;
    }
    case kGradientDescent:
      with_none(of, [alpha = s[0]](T& v, T g) { v = v - alpha * g; });
      return 0;
    case kAdam: {
      const T rate = s[2] * std::sqrt(1 - s[1]) / (1 - s[0]);
      with_two(of, [rate, beta1 = s[3], beta2 = s[4], epsilon = s[5], flag](T& v, T& m, T& u, T g) {
        m = m + (g - m) * (1 - beta1);
        u = u + (g * g - u) * (1 - beta2);
        v = v - rate * (flag ? g * (1 - beta1) + beta1 * m : m) / (std::sqrt(u) + epsilon);
      });
      return 0;
    }
  }
  return -1;
}

HEADRACE_CLONES
int64_t update_float(int64_t kind, const Rows<float>* of, const float* s, bool flag) {
  return update(kind, *of, s, flag);
}

HEADRACE_CLONES
int64_t update_double(int64_t kind, const Rows<double>* of, const double* s, bool flag) {
  return update(kind, *of, s, flag);
}

// A whole variable, as rows of one piece each.
template <typename T, typename Update>
int64_t update_whole(int64_t kind, T* const* tables, int64_t count, int64_t size, const T* grads, const T* scalars,
                     bool flag, int64_t threads, const Update& update) {
  constexpr int64_t kPiece = 1 << 16, kMostTables = 4;
  if (count > kMostTables) return -1;
  std::atomic<int64_t> failed{0};
  headrace::for_each_piece((size + kPiece - 1) / kPiece, threads, [&](int64_t piece) {
    const int64_t from = piece * kPiece, first = 0;
    T* moved[kMostTables];
    for (int64_t k = 0; k < count; ++k) moved[k] = tables[k] + from;
    const Rows<T> of{moved, size - from < kPiece ? size - from : kPiece, 1, &first, 8, grads + from};
    if (update(kind, &of, scalars, flag) != 0) failed = -1;
  });
  return failed;
}

// What becomes of a row of a table and one of updates.
enum Way { kSet, kAdd, kSubtract, kMultiply };

template <typename T>
INLINE void scatter(int64_t way, const Rows<T>& of) {
  switch (way) {
    case kAdd: with_none(of, [](T& v, T u) { v += u; }); break;
    case kSubtract: with_none(of, [](T& v, T u) { v -= u; }); break;
    case kMultiply: with_none(of, [](T& v, T u) { v *= u; }); break;
    default: with_none(of, [](T& v, T u) { v = u; });
  }
}

#define SCATTER(NAME, T) \
  HEADRACE_CLONES void NAME(int64_t way, const Rows<T>* of) { scatter(way, *of); }
SCATTER(scatter_float, float)
SCATTER(scatter_double, double)
// Integers wrap around.
SCATTER(scatter_int, uint32_t)
SCATTER(scatter_long, uint64_t)

}  // namespace

// The first place of an index that is no row, -1 if there is none.
HEADRACE_EXPORT int64_t headrace_first_outside(const void* indices, int64_t index_size, int64_t n, int64_t rows) {
  const auto limit = static_cast<uint64_t>(rows);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = index_size == 4 ? static_cast<const int32_t*>(indices)[i]
                                       : static_cast<const int64_t*>(indices)[i];
    if (static_cast<uint64_t>(at) >= limit) return i;
  }
  return -1;
}

HEADRACE_EXPORT int64_t headrace_update_rows_float(int64_t kind, float* const* tables, int64_t width, int64_t n,
                                                   const void* indices, int64_t index_size, const float* grads,
                                                   const float* scalars, int64_t flag) {
  const Rows<float> of{tables, width, n, indices, index_size, grads};
  return update_float(kind, &of, scalars, flag != 0);
}

HEADRACE_EXPORT int64_t headrace_update_rows_double(int64_t kind, double* const* tables, int64_t width, int64_t n,
                                                    const void* indices, int64_t index_size, const double* grads,
                                                    const double* scalars, int64_t flag) {
  const Rows<double> of{tables, width, n, indices, index_size, grads};
  return update_double(kind, &of, scalars, flag != 0);
}

HEADRACE_EXPORT int64_t headrace_update_whole_float(int64_t kind, float* const* tables, int64_t count, int64_t size,
                                                    const float* grads, const float* scalars, int64_t flag,
                                                    int64_t threads) {
  return update_whole(kind, tables, count, size, grads, scalars, flag != 0, threads, update_float);
}

HEADRACE_EXPORT int64_t headrace_update_whole_double(int64_t kind, double* const* tables, int64_t count, int64_t size,
                                                     const double* grads, const double* scalars, int64_t flag,
                                                     int64_t threads) {
  return update_whole(kind, tables, count, size, grads, scalars, flag != 0, threads, update_double);
}

// `kind` is the letter that NumPy has for the type of the table: f, d, i (of 32 bits) or l (of 64).
HEADRACE_EXPORT int64_t headrace_scatter_rows(int64_t way, int64_t kind, void* table, int64_t width, int64_t n,
                                              const void* indices, int64_t index_size, const void* updates) {
  const auto run = [&](auto function, auto* typed) {
    using T = std::remove_pointer_t<decltype(typed)>;
    const Rows<T> of{&typed, width, n, indices, index_size, static_cast<const T*>(updates)};
    function(way, &of);
  };
  switch (kind) {
    case 'f': run(scatter_float, static_cast<float*>(table)); return 0;
    case 'd': run(scatter_double, static_cast<double*>(table)); return 0;
    case 'i': run(scatter_int, static_cast<uint32_t*>(table)); return 0;
    case 'l': run(scatter_long, static_cast<uint64_t*>(table)); return 0;
  }
  return -1;
}
