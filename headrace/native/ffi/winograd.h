// Convolutions in fewer multiplications; see winograd.cc.
#pragma once

#include <cstdint>

#include "ffi/convolution.h"

namespace headrace {

// Whether a convolution, and its gradients, can be computed so and are worth it.
bool takes_winograd(const Convolution& of);

// Each returns false if not all results are finite; they are to be computed the direct way then.
bool winograd_forward(const Convolution& of, const float* x, const float* w, float* y, const Finish* finish,
                      const Threading& threading);
bool winograd_input_gradient(const Convolution& of, const float* w, const float* dy, float* dx,
                             const Threading& threading);
bool winograd_filter_gradient(const Convolution& of, const float* x, const float* dy, float* dw,
                              const Threading& threading);

}  // namespace headrace
