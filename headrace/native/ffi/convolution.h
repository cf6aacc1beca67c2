// Convolutions and their gradients as products of matrices.
#pragma once

#include <cstdint>

#include "ffi/products.h"

namespace headrace {

// A convolution of images [images, depth, height, width, channels] with a filter
// [depth, height, width, channels / groups, filters] to [images, depth, height, width, filters].
struct Convolution {
  int64_t images, channels, filters, groups;
  int64_t size[3], window[3], outputs[3];
  int64_t step[3], dilation[3], before[3];

  // Whether the numbers are those of a convolution that can be computed.
  bool is_sound() const;

  // `finish`: what becomes of the sums, null for nothing.
  void forward(const float* x, const float* w, float* y, const Finish* finish, const Threading& threading) const;
  void input_gradient(const float* w, const float* dy, float* dx, const Threading& threading) const;
  void filter_gradient(const float* x, const float* dy, float* dw, const Threading& threading) const;
};

// The product of two matrices, each of which may lie transposed: [k, m] instead of [m, k], [n, k] instead of [k, n].
Product matrix_product(const float* a, bool turn_a, const float* b, bool turn_b, float* c, int64_t m, int64_t n,
                       int64_t k);

// Has the results of a product finished; columns of `of` from `first` on are the product's.
void finish_product(Product& product, const Finish& of, int64_t first);

}  // namespace headrace
