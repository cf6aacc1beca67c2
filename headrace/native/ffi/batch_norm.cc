// Batch normalization and its gradient, float32, channels last.
//
// The channels repeat: an array is looked at as rows of a period, a multiple of the channels that fills registers. How
// it is cut into blocks and pieces depends on its size alone, so that results are the same on any number of threads.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "export.h"
#include "ffi/pool.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

constexpr int64_t kLanes = 16;            // one register, or several, as the CPU has them
constexpr int64_t kShortPeriod = 64;      // shorter ones are repeated
constexpr int64_t kLongPeriod = 1 << 12;  // no longer ones are made, though the last register is not filled
constexpr int64_t kBlock = 1 << 14;       // numbers that are added up as floats: they fit the second-level cache
constexpr int64_t kPiece = 1 << 17;       // numbers that are a piece of work
constexpr int64_t kMostPieces = 64;

typedef float Numbers __attribute__((vector_size(4 * kLanes)));

template <typename V>
inline __attribute__((always_inline)) V read(const float* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <typename V>
inline __attribute__((always_inline)) void write(float* p, V v) {
  std::memcpy(p, &v, sizeof v);
}

// What relu gives, or relu6: NaN stays, and as a bound is none.
template <typename V>
inline __attribute__((always_inline)) V rectified(V v, float bound) {
  v = v <= 0.0f ? V{} : v;
  return v > bound ? V{} + bound : v;
}

// `v` where relu let pass what it was given; elsewhere zero, or NaN if `v` isn't finite.
template <typename V>
inline __attribute__((always_inline)) V where_passed(V v, V result, float bound) {
  const V one = V{} + 1.0f;
  v *= result > 0.0f ? one : V{};
  // Not by one factor: the compiler would find both conditions, and join them number by number.
  return v * (result >= bound ? V{} : one);
}

float bound_of(bool six) { return six ? 6.0f : std::numeric_limits<float>::quiet_NaN(); }

// Calls `visit.template at<V, Rows>(first element, place in the period)` for all elements, `Visit::kRows` rows at a time.
template <int Rows, typename Visit>
inline __attribute__((always_inline)) void visit_rows(int64_t start, int64_t width, const Visit& visit) {
  int64_t w = 0;
  for (; w + kLanes <= width; w += kLanes) visit.template at<Numbers, Rows>(start + w, w);
  for (; w < width; ++w) visit.template at<float, Rows>(start + w, w);
}

template <typename Visit>
inline __attribute__((always_inline)) void visit_all(int64_t size, int64_t period, const Visit& visit) {
  int64_t i = 0;
  constexpr int rows = Visit::kRows;
  for (; i + rows * period <= size; i += rows * period) visit_rows<rows>(i, period, visit);
  for (; i + period <= size; i += period) visit_rows<1>(i, period, visit);
  if (i < size) visit_rows<1>(i, size - i, visit);
}

struct Adding {
  static constexpr int kRows = 4;
  const float* x;
  int64_t period;
  float* sums;
  template <typename V, int Rows>
  inline __attribute__((always_inline)) void at(int64_t i, int64_t w) const {
    V sum = read<V>(x + i);
#pragma GCC unroll 4
    for (int r = 1; r < Rows; ++r) sum += read<V>(x + i + r * period);
    write(sums + w, read<V>(sums + w) + sum);
  }
};

struct AddingDeviations {
  static constexpr int kRows = 4;
  const float *x, *center;
  int64_t period;
  float *sums, *squares;
  template <typename V, int Rows>
  inline __attribute__((always_inline)) void at(int64_t i, int64_t w) const {
    const V middle = read<V>(center + w);
    V sum{}, square{};
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      const float* p = x + i + r * period;
      if (sizeof(V) == sizeof(Numbers)) __builtin_prefetch(p + kBlock, 0, 2);  // what the next block begins with
      const V d = read<V>(p) - middle;
      sum += d;
      square += d * d;
    }
    write(sums + w, read<V>(sums + w) + sum);
    write(squares + w, read<V>(squares + w) + square);
  }
};

template <bool Masked>
struct AddingGradients {
  static constexpr int kRows = 1;  // several arrays are read and written: each from one end to the other
  const float *dy, *x, *y, *mean;
  float bound;
  int64_t period;
  float *sums, *products;
  template <typename V, int Rows>
  inline __attribute__((always_inline)) void at(int64_t i, int64_t w) const {
    const V middle = read<V>(mean + w);
    V sum{}, product{};
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      const int64_t j = i + r * period;
      V g = read<V>(dy + j);
      if (Masked) g = where_passed(g, read<V>(y + j), bound);
      sum += g;
      product += g * (read<V>(x + j) - middle);
    }
    write(sums + w, read<V>(sums + w) + sum);
    write(products + w, read<V>(products + w) + product);
  }
};

template <bool Added>
struct Normalizing {
  static constexpr int kRows = 1;
  const float *x, *added, *mean, *factor, *offset;
  float bound;
  int64_t period;
  float* y;
  template <typename V, int Rows>
  inline __attribute__((always_inline)) void at(int64_t i, int64_t w) const {
    const V middle = read<V>(mean + w), by = read<V>(factor + w), up = read<V>(offset + w);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      const int64_t j = i + r * period;
      V v = (read<V>(x + j) - middle) * by + up;
      if (Added) v += read<V>(added + j);
      write(y + j, rectified(v, bound));
    }
  }
};

template <bool Masked>
struct Differentiating {
  static constexpr int kRows = 1;
  const float *dy, *x, *y, *mean, *factor, *average, *bend;
  float bound;
  int64_t period;
  float* dx;
  template <typename V, int Rows>
  inline __attribute__((always_inline)) void at(int64_t i, int64_t w) const {
    const V middle = read<V>(mean + w), by = read<V>(factor + w), less = read<V>(average + w), bent = read<V>(bend + w);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      const int64_t j = i + r * period;
      V g = read<V>(dy + j);
      if (Masked) g = where_passed(g, read<V>(y + j), bound);
      write(dx + j, by * (g - less - (read<V>(x + j) - middle) * bent));
    }
  }
};

// Functions for several kinds of CPU can't be templates.
HEADRACE_CLONES void run(int64_t size, const Adding* of) { visit_all(size, of->period, *of); }
HEADRACE_CLONES void run(int64_t size, const AddingDeviations* of) { visit_all(size, of->period, *of); }
HEADRACE_CLONES void run(int64_t size, const AddingGradients<false>* of) { visit_all(size, of->period, *of); }
HEADRACE_CLONES void run(int64_t size, const AddingGradients<true>* of) { visit_all(size, of->period, *of); }
HEADRACE_CLONES void run(int64_t size, const Normalizing<false>* of) { visit_all(size, of->period, *of); }
HEADRACE_CLONES void run(int64_t size, const Normalizing<true>* of) { visit_all(size, of->period, *of); }
HEADRACE_CLONES void run(int64_t size, const Differentiating<false>* of) { visit_all(size, of->period, *of); }
HEADRACE_CLONES void run(int64_t size, const Differentiating<true>* of) { visit_all(size, of->period, *of); }

// How an array is cut.
struct Cut {
  int64_t size, channels, period, block, piece;

  Cut(int64_t size, int64_t channels) : size(size), channels(channels) {
    int64_t repeats = kLanes / std::gcd(channels, kLanes);
    if (repeats * channels > kLongPeriod) repeats = 1;
    while (repeats * channels < kShortPeriod) repeats *= 2;
    period = repeats * channels;
    block = std::max<int64_t>(1, kBlock / period) * period;
    piece = std::max(kPiece, (size + kMostPieces - 1) / kMostPieces);
    piece = (piece + block - 1) / block * block;
  }

  int64_t pieces() const { return (size + piece - 1) / piece; }
  int64_t end(int64_t index) const { return std::min(size, (index + 1) * piece); }

  std::vector<float> repeated(const float* of) const {
    std::vector<float> out(period);
    for (int64_t i = 0; i < period; i += channels) std::copy_n(of, channels, out.data() + i);
    return out;
  }

  // Adds what lies in the same channel in the period to its first channels.
  void fold(float* sums) const {
    for (int64_t i = channels; i < period; i += channels) {
      for (int64_t c = 0; c < channels; ++c) sums[c] += sums[i + c];
    }
  }
};

// Sums over rows, and sums of squares of deviations from their mean, of every channel.
struct Moments {
  double rows = 0;
  std::vector<double> sums, squares;

  explicit Moments(int64_t channels = 0) : sums(channels), squares(channels) {}
};

HEADRACE_CLONES
void add_block(int64_t channels, double before, double rows, const float* center, const float* deviations,
               const float* squares, double* sums, double* all_squares) {
  const double share = before > 0 ? before * rows / (before + rows) : 0.0;
  const double to_mean = before > 0 ? 1 / before : 0.0;
  for (int64_t c = 0; c < channels; ++c) {
    // The center is the mean but for rounding; what is left of the deviations says by how much. Not if it is infinite.
    const float left = deviations[c];
    const double off = left - left == 0.0f ? left : 0.0f;
    const double sum = center[c] * rows + off;
    const double apart = sum / rows - sums[c] * to_mean;
    const double square = squares[c] - off * off / rows;
    all_squares[c] += (square < 0 ? 0.0 : square) + apart * apart * share;
    sums[c] += sum;
  }
}

HEADRACE_CLONES
void add_piece(int64_t channels, double before, double rows, const double* its_sums, const double* its_squares,
               double* sums, double* squares) {
  const double share = before > 0 ? before * rows / (before + rows) : 0.0;
  const double to_mean = before > 0 ? 1 / before : 0.0;
  for (int64_t c = 0; c < channels; ++c) {
    const double apart = its_sums[c] / rows - sums[c] * to_mean;
    squares[c] += its_squares[c] + apart * apart * share;
    sums[c] += its_sums[c];
  }
}

HEADRACE_CLONES
void add_floats(int64_t channels, const float* from, double* to) {
  for (int64_t c = 0; c < channels; ++c) to[c] += from[c];
}

Moments moments_of_piece(const Cut& cut, const float* x, int64_t index) {
  const int64_t period = cut.period;
  Moments all(cut.channels);
  std::vector<float> scratch(3 * period);
  float *center = scratch.data(), *deviations = center + period, *squares = deviations + period;
  for (int64_t i = index * cut.piece; i < cut.end(index); i += cut.block) {
    const int64_t size = std::min(cut.block, cut.end(index) - i);
    const double rows = static_cast<double>(size / cut.channels);
    std::fill(scratch.begin(), scratch.end(), 0.0f);
    const Adding adding{x + i, period, center};
    run(size, &adding);
    cut.fold(center);
    for (int64_t c = 0; c < cut.channels; ++c) center[c] = static_cast<float>(center[c] / rows);
    for (int64_t w = cut.channels; w < period; w += cut.channels) std::copy_n(center, cut.channels, center + w);
    const AddingDeviations again{x + i, center, period, deviations, squares};
    run(size, &again);
    cut.fold(deviations);
    cut.fold(squares);
    add_block(cut.channels, all.rows, rows, center, deviations, squares, all.sums.data(), all.squares.data());
    all.rows += rows;
  }
  return all;
}

using Array = ffi::Buffer<ffi::F32>;
using Vector = ffi::Buffer<ffi::F32, 1>;

// The channels of an array that has elements and whose channels are those of all vectors; 0 for others.
template <typename... Vectors>
int64_t channels_of(const Array& x, const Vectors&... vectors) {
  if (x.dimensions().size() == 0 || x.element_count() == 0) return 0;
  const int64_t channels = x.dimensions().back();
  const bool fits = ((static_cast<int64_t>(vectors.element_count()) == channels) && ...);
  return fits ? channels : 0;
}

ffi::Error refusal() { return ffi::Error::InvalidArgument("the shapes of a batch normalization do not fit"); }

// The operand after the others, if there is one: an array like `x`.
ffi::ErrorOr<const float*> optional_array(ffi::RemainingArgs rest, const Array& x) {
  if (rest.size() == 0) return static_cast<const float*>(nullptr);
  auto found = rest.get<Array>(0);
  if (!found.has_value()) return ffi::Unexpected(found.error());
  if (found->element_count() != x.element_count()) return ffi::Unexpected(refusal());
  return static_cast<const float*>(found->typed_data());
}

// Mean and (biased) variance of each channel.
ffi::Error moments(ffi::ThreadPool pool, Array x, ffi::Result<Vector> mean, ffi::Result<Vector> variance) {
  const int64_t channels = channels_of(x, *mean, *variance);
  if (channels == 0) return refusal();
  const Cut cut(x.element_count(), channels);
  std::vector<Moments> parts(cut.pieces());
  headrace::for_each_piece(pool, cut.pieces(),
                           [&](int64_t i) { parts[i] = moments_of_piece(cut, x.typed_data(), i); });
  Moments all = std::move(parts[0]);
  for (size_t i = 1; i < parts.size(); ++i) {
    const Moments& part = parts[i];
    add_piece(channels, all.rows, part.rows, part.sums.data(), part.squares.data(), all.sums.data(),
              all.squares.data());
    all.rows += part.rows;
  }
  for (int64_t c = 0; c < channels; ++c) {
    mean->typed_data()[c] = static_cast<float>(all.sums[c] / all.rows);
    variance->typed_data()[c] = static_cast<float>(all.squares[c] / all.rows);
  }
  return ffi::Error::Success();
}

std::vector<float> inverse_deviations(const Vector& variance, float epsilon) {
  std::vector<float> out(variance.element_count());
  for (size_t c = 0; c < out.size(); ++c) out[c] = 1.0f / std::sqrt(variance.typed_data()[c] + epsilon);
  return out;
}

// What relu makes of (x - mean) * scale / deviation + offset, plus an array if there is one more operand.
ffi::Error normalize(ffi::ThreadPool pool, Array x, Vector mean, Vector variance, Vector scale, Vector offset,
                     ffi::RemainingArgs rest, ffi::Result<Array> y, float epsilon, bool six) {
  const int64_t channels = channels_of(x, mean, variance, scale, offset);
  const auto added = optional_array(rest, x);
  if (!added.has_value()) return added.error();
  if (channels == 0 || y->element_count() != x.element_count()) return refusal();
  const Cut cut(x.element_count(), channels);
  std::vector<float> factor = inverse_deviations(variance, epsilon);
  for (int64_t c = 0; c < channels; ++c) factor[c] *= scale.typed_data()[c];
  const std::vector<float> means = cut.repeated(mean.typed_data()), factors = cut.repeated(factor.data()),
                           offsets = cut.repeated(offset.typed_data());
  headrace::for_each_piece(pool, cut.pieces(), [&](int64_t i) {
    const int64_t from = i * cut.piece, size = cut.end(i) - from;
    const float* more = *added == nullptr ? nullptr : *added + from;
    const auto go = [&](auto of) {
      of = {x.typed_data() + from, more, means.data(), factors.data(), offsets.data(), bound_of(six), cut.period,
            y->typed_data() + from};
      run(size, &of);
    };
    more == nullptr ? go(Normalizing<false>{}) : go(Normalizing<true>{});
  });
  return ffi::Error::Success();
}

// The gradient of normalization by mean and variance of the batch. If there is one more operand, it is what relu made of
// the normalized, and gradients count only where that let them pass.
ffi::Error gradient(ffi::ThreadPool pool, Array dy, Array x, Vector scale, Vector mean, Vector variance,
                    ffi::RemainingArgs rest, ffi::Result<Array> dx, ffi::Result<Vector> d_scale,
                    ffi::Result<Vector> d_offset, float epsilon, bool six) {
  const int64_t channels = channels_of(x, scale, mean, variance, *d_scale, *d_offset);
  const auto mask = optional_array(rest, x);
  if (!mask.has_value()) return mask.error();
  if (channels == 0 || dy.element_count() != x.element_count() || dx->element_count() != x.element_count()) {
    return refusal();
  }
  const Cut cut(x.element_count(), channels);
  const int64_t period = cut.period;
  const std::vector<float> means = cut.repeated(mean.typed_data());
  std::vector<double> parts(2 * channels * cut.pieces());
  headrace::for_each_piece(pool, cut.pieces(), [&](int64_t index) {
    double* to = parts.data() + 2 * channels * index;
    std::vector<float> scratch(2 * period);
    float *sums = scratch.data(), *products = sums + period;
    for (int64_t i = index * cut.piece; i < cut.end(index); i += cut.block) {
      const int64_t size = std::min(cut.block, cut.end(index) - i);
      std::fill(scratch.begin(), scratch.end(), 0.0f);
      const auto go = [&](auto of) {
        of = {dy.typed_data() + i, x.typed_data() + i, *mask == nullptr ? nullptr : *mask + i, means.data(), bound_of(six),
              period, sums, products};
        run(size, &of);
      };
      *mask == nullptr ? go(AddingGradients<false>{}) : go(AddingGradients<true>{});
      cut.fold(sums);
      cut.fold(products);
      add_floats(channels, sums, to);
      add_floats(channels, products, to + channels);
    }
  });
  for (int64_t i = 1; i < cut.pieces(); ++i) {
    for (int64_t j = 0; j < 2 * channels; ++j) parts[j] += parts[2 * channels * i + j];
  }
  const float rows = static_cast<float>(cut.size / channels);
  const std::vector<float> inverse = inverse_deviations(variance, epsilon);
  std::vector<float> vectors(3 * channels);
  for (int64_t c = 0; c < channels; ++c) {
    const float sum = static_cast<float>(parts[c]), product = static_cast<float>(parts[channels + c]);
    d_offset->typed_data()[c] = sum;
    d_scale->typed_data()[c] = product * inverse[c];
    vectors[c] = scale.typed_data()[c] * inverse[c];
    vectors[channels + c] = sum / rows;
    vectors[2 * channels + c] = product * inverse[c] * inverse[c] / rows;
  }
  const std::vector<float> factors = cut.repeated(vectors.data()), averages = cut.repeated(vectors.data() + channels),
                           bends = cut.repeated(vectors.data() + 2 * channels);
  headrace::for_each_piece(pool, cut.pieces(), [&](int64_t index) {
    const int64_t i = index * cut.piece, size = cut.end(index) - i;
    const auto go = [&](auto of) {
      of = {dy.typed_data() + i, x.typed_data() + i, *mask == nullptr ? nullptr : *mask + i, means.data(),
            factors.data(), averages.data(), bends.data(), bound_of(six), period, dx->typed_data() + i};
      run(size, &of);
    };
    *mask == nullptr ? go(Differentiating<false>{}) : go(Differentiating<true>{});
  });
  return ffi::Error::Success();
}

}  // namespace

#pragma GCC visibility push(default)

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    headrace_moments, moments,
    ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<Array>().Ret<Vector>().Ret<Vector>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(headrace_normalize, normalize,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Array>()
                                  .Arg<Vector>()
                                  .Arg<Vector>()
                                  .Arg<Vector>()
                                  .Arg<Vector>()
                                  .RemainingArgs()
                                  .Ret<Array>()
                                  .Attr<float>("epsilon")
                                  .Attr<bool>("six"));

XLA_FFI_DEFINE_HANDLER_SYMBOL(headrace_batch_norm_gradient, gradient,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Arg<Vector>()
                                  .Arg<Vector>()
                                  .Arg<Vector>()
                                  .RemainingArgs()
                                  .Ret<Array>()
                                  .Ret<Vector>()
                                  .Ret<Vector>()
                                  .Attr<float>("epsilon")
                                  .Attr<bool>("six"));

#pragma GCC visibility pop
