// Convolutions of every channel with a filter of its own, float32, channels last.
#pragma once

#include <cstdint>
#include <vector>

#include "ffi/products.h"

namespace headrace {

// Images [images, height, width, channels], a filter [height, width, channels].
struct Depthwise {
  int64_t images, channels;
  int64_t size[2], window[2], outputs[2], step[2], dilation[2], before[2];

  bool is_sound() const;
};

// Along one axis, what adds up to each element of a result: `count` elements of the source from `source` on, and of
// the filter from `tap` on.
struct Axis {
  struct Terms {
    int64_t source, count, tap;
  };
  std::vector<Terms> terms;      // of each element
  int64_t source_step, tap_step;  // from one term to the next
  int64_t phases;                // elements so far apart have the same taps, the edges excepted
  int64_t shift;                 // from the source of one to that of the next so far apart
  int64_t source_size;
};

// Every element of a result [images, rows, columns, channels] as a sum of products of a source and the filter: the
// convolution itself, or the gradient of its input.
struct Gathering {
  int64_t images, channels, filter_width;
  Axis rows, columns;
  int64_t block;  // rows that are a piece of work
  const Finish* finish = nullptr;  // what becomes of the sums, null for nothing

  Gathering(const Depthwise& of, bool is_gradient);
  int64_t pieces() const;
  void compute(const float* source, const float* filter, float* result, int64_t piece) const;
};

// The gradient of the filter: sums over some images each, which are then added up.
struct FilterSums {
  explicit FilterSums(const Depthwise& of);
  int64_t pieces() const { return static_cast<int64_t>(groups * blocks); }
  int64_t partial_size() const { return groups * of.window[0] * of.window[1] * of.channels; }
  void compute(const float* x, const float* dy, float* partials, int64_t piece) const;
  void add(const float* partials, float* dw) const;

  const Depthwise& of;
  int64_t groups, blocks;  // of images, of channels
};

}  // namespace headrace
