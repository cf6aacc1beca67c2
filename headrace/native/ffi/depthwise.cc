// Convolutions of every channel with a filter of its own, float32, channels last.

#include "ffi/depthwise.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "export.h"

namespace headrace {
namespace {

constexpr int64_t kLanes = 16;       // channels in a register, or several
constexpr int64_t kFewLanes = 4;
constexpr int kColumns = 4;          // results that share what is read of the filter
constexpr int64_t kPiece = 1 << 16;  // numbers of the result that are a piece of work
constexpr int64_t kChannels = 64;    // of a piece of the gradient of the filter
constexpr int64_t kMostGroups = 32;

typedef float Many __attribute__((vector_size(4 * kLanes)));
typedef float Few __attribute__((vector_size(4 * kFewLanes)));

template <typename V>
inline __attribute__((always_inline)) V read(const float* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

Axis seen_by_outputs(const Depthwise& of, int a) {
  Axis axis{{}, of.dilation[a], 1, 1, of.step[a], of.size[a]};
  for (int64_t o = 0; o < of.outputs[a]; ++o) {
    const int64_t start = o * of.step[a] - of.before[a];
    Axis::Terms t{0, 0, 0};
    for (int64_t k = 0; k < of.window[a]; ++k) {
      const int64_t i = start + k * of.dilation[a];
      if (i < 0 || i >= of.size[a]) continue;
      if (t.count++ == 0) t = {i, 1, k};
    }
    axis.terms.push_back(t);
  }
  return axis;
}

Axis seeing_inputs(const Depthwise& of, int a) {
  const int64_t common = std::gcd(of.step[a], of.dilation[a]);
  Axis axis{{}, of.dilation[a] / common, -(of.step[a] / common), of.step[a], 1, of.outputs[a]};
  for (int64_t i = 0; i < of.size[a]; ++i) {
    Axis::Terms t{0, 0, 0};
    for (int64_t k = of.window[a] - 1; k >= 0; --k) {
      const int64_t at = i + of.before[a] - k * of.dilation[a];
      if (at < 0 || at % of.step[a] != 0 || at / of.step[a] >= of.outputs[a]) continue;
      if (t.count++ == 0) t = {at / of.step[a], 1, k};
    }
    axis.terms.push_back(t);
  }
  return axis;
}

// A number in all lanes, or numbers from memory.
template <typename V>
inline __attribute__((always_inline)) V some(const float* p, float otherwise, int64_t channel) {
  return p == nullptr ? (V{} + 1.0f) * otherwise : read<V>(p + channel);
}

// What becomes of N sums, the first of which will be written at `to` and the others `step` apart.
template <typename V, int N>
inline __attribute__((always_inline)) void finish_sums(const Finish& of, V* sums, int64_t channel, const float* to,
                                                       int64_t step) {
  const V factor = some<V>(of.factor, 1.0f, channel), bias = some<V>(of.bias, -0.0f, channel);
  const V least = V{} + of.least, most = V{} + of.most;
#pragma GCC unroll 4
  for (int n = 0; n < N; ++n) {
    V v = sums[n] * factor + bias;
    if (of.added != nullptr) v += read<V>(of.added + (to + n * step - of.result));
    v = v < least ? least : v;
    sums[n] = v > most ? most : v;
  }
}

// Results side by side, or `phases` apart, that have the same taps.
template <typename V, int N>
inline __attribute__((always_inline)) void sum(const Gathering& of, const Axis::Terms& row, const Axis::Terms& column,
                                               const float* source, const float* filter, float* result,
                                               int64_t channel) {
  V sums[N];
#pragma GCC unroll 4
  for (int n = 0; n < N; ++n) sums[n] = V{};
  const int64_t c = of.channels, shift = of.columns.shift * c;
  for (int64_t i = 0; i < row.count; ++i) {
    const float* x =
        source + ((row.source + i * of.rows.source_step) * of.columns.source_size + column.source) * c + channel;
    const float* w = filter + ((row.tap + i * of.rows.tap_step) * of.filter_width + column.tap) * c + channel;
    for (int64_t j = 0; j < column.count; ++j) {
      const V tap = read<V>(w);
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) sums[n] += read<V>(x + n * shift) * tap;
      x += of.columns.source_step * c;
      w += of.columns.tap_step * c;
    }
  }
  if (of.finish != nullptr) {
    finish_sums<V, N>(*of.finish, sums, channel, result + channel, of.columns.phases * c);
  }
#pragma GCC unroll 4
  for (int n = 0; n < N; ++n) std::memcpy(result + n * of.columns.phases * c + channel, &sums[n], sizeof sums[n]);
}

template <int N>
inline __attribute__((always_inline)) void sums(const Gathering& of, const Axis::Terms& row, const Axis::Terms& column,
                                                const float* source, const float* filter, float* result) {
  int64_t channel = 0;
  for (; channel + kLanes <= of.channels; channel += kLanes) {
    sum<Many, N>(of, row, column, source, filter, result, channel);
  }
  for (; channel + kFewLanes <= of.channels; channel += kFewLanes) {
    sum<Few, N>(of, row, column, source, filter, result, channel);
  }
  for (; channel < of.channels; ++channel) sum<float, N>(of, row, column, source, filter, result, channel);
}

HEADRACE_CLONES void gather_row(const Gathering* of, const Axis::Terms* row, const float* source, const float* filter,
                                float* result) {
  const Axis& axis = of->columns;
  const int64_t width = static_cast<int64_t>(axis.terms.size());
  for (int64_t phase = 0; phase < std::min(axis.phases, width); ++phase) {
    for (int64_t at = phase; at < width;) {
      const Axis::Terms& first = axis.terms[at];
      const int64_t last = at + (kColumns - 1) * axis.phases;
      float* to = result + at * of->channels;
      // What lies between two with the same taps has them, too.
      if (last < width && axis.terms[last].tap == first.tap && axis.terms[last].count == first.count &&
          axis.terms[last].source == first.source + (kColumns - 1) * axis.shift) {
        sums<kColumns>(*of, *row, first, source, filter, to);
        at += kColumns * axis.phases;
      } else {
        sums<1>(*of, *row, first, source, filter, to);
        at += axis.phases;
      }
    }
  }
}

// Adds up, for `count` channels, products of `places` pixels of the input with the gradients of the output.
template <typename V, int N>
inline __attribute__((always_inline)) void add_products(const float* x, int64_t x_step, const float* dy,
                                                        int64_t dy_step, int64_t places, float* to) {
  constexpr int64_t lanes = sizeof(V) / sizeof(float);
  V sums[N];
#pragma GCC unroll 4
  for (int n = 0; n < N; ++n) sums[n] = read<V>(to + n * lanes);
  for (int64_t i = 0; i < places; ++i, x += x_step, dy += dy_step) {
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) sums[n] += read<V>(x + n * lanes) * read<V>(dy + n * lanes);
  }
  std::memcpy(to, sums, sizeof sums);
}

HEADRACE_CLONES void add_all_products(const float* x, int64_t x_step, const float* dy, int64_t dy_step, int64_t places,
                                      int64_t count, float* to) {
  int64_t c = 0;
  for (; c + 4 * kLanes <= count; c += 4 * kLanes) add_products<Many, 4>(x + c, x_step, dy + c, dy_step, places, to + c);
  for (; c + kLanes <= count; c += kLanes) add_products<Many, 1>(x + c, x_step, dy + c, dy_step, places, to + c);
  for (; c + kFewLanes <= count; c += kFewLanes) add_products<Few, 1>(x + c, x_step, dy + c, dy_step, places, to + c);
  for (; c < count; ++c) add_products<float, 1>(x + c, x_step, dy + c, dy_step, places, to + c);
}

int64_t ceiling(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

bool Depthwise::is_sound() const {
  if (images < 0 || channels < 0) return false;
  for (int a = 0; a < 2; ++a) {
    if (size[a] < 0 || window[a] < 1 || outputs[a] < 0 || step[a] < 1 || dilation[a] < 1) return false;
  }
  return true;
}

Gathering::Gathering(const Depthwise& of, bool is_gradient)
    : images(of.images),
      channels(of.channels),
      filter_width(of.window[1]),
      rows(is_gradient ? seeing_inputs(of, 0) : seen_by_outputs(of, 0)),
      columns(is_gradient ? seeing_inputs(of, 1) : seen_by_outputs(of, 1)) {
  const int64_t row = std::max<int64_t>(1, static_cast<int64_t>(columns.terms.size()) * channels);
  block = std::max<int64_t>(1, kPiece / row);
}

int64_t Gathering::pieces() const { return images * ceiling(static_cast<int64_t>(rows.terms.size()), block); }

void Gathering::compute(const float* source, const float* filter, float* result, int64_t piece) const {
  const int64_t height = static_cast<int64_t>(rows.terms.size()), width = static_cast<int64_t>(columns.terms.size());
  const int64_t blocks = ceiling(height, block), image = piece / blocks, first = piece % blocks * block;
  source += image * rows.source_size * columns.source_size * channels;
  result += image * height * width * channels;
  for (int64_t row = first; row < std::min(first + block, height); ++row) {
    gather_row(this, &rows.terms[row], source, filter, result + row * width * channels);
  }
}

FilterSums::FilterSums(const Depthwise& of)
    : of(of), groups(std::min(of.images, kMostGroups)), blocks(ceiling(of.channels, kChannels)) {}

void FilterSums::compute(const float* x, const float* dy, float* partials, int64_t piece) const {
  const int64_t group = piece / blocks, first = piece % blocks * kChannels, c = of.channels;
  const int64_t count = std::min(kChannels, c - first);
  float* sums = partials + group * of.window[0] * of.window[1] * c + first;
  for (int64_t k = 0; k < of.window[0] * of.window[1]; ++k) std::memset(sums + k * c, 0, sizeof(float) * count);
  for (int64_t image = of.images * group / groups; image < of.images * (group + 1) / groups; ++image) {
    const float* images = x + image * of.size[0] * of.size[1] * c + first;
    const float* gradients = dy + image * of.outputs[0] * of.outputs[1] * c + first;
    for (int64_t row = 0; row < of.outputs[0]; ++row) {
      for (int64_t k = 0; k < of.window[0]; ++k) {
        const int64_t h = row * of.step[0] - of.before[0] + k * of.dilation[0];
        if (h < 0 || h >= of.size[0]) continue;
        for (int64_t l = 0; l < of.window[1]; ++l) {
          // The outputs from `begin` on, up to `end`, whose pixel is inside.
          const int64_t start = l * of.dilation[1] - of.before[1], step = of.step[1];
          const int64_t begin = start < 0 ? ceiling(-start, step) : 0;
          const int64_t end = std::min(of.outputs[1], start >= of.size[1] ? 0 : ceiling(of.size[1] - start, step));
          if (begin >= end) continue;
          add_all_products(images + (h * of.size[1] + start + begin * step) * c, step * c,
                           gradients + (row * of.outputs[1] + begin) * c, c, end - begin, count,
                           sums + (k * of.window[1] + l) * c);
        }
      }
    }
  }
}

void FilterSums::add(const float* partials, float* dw) const {
  const int64_t size = of.window[0] * of.window[1] * of.channels;
  std::memset(dw, 0, sizeof(float) * size);
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t i = 0; i < size; ++i) dw[i] += partials[g * size + i];
  }
}

}  // namespace headrace
