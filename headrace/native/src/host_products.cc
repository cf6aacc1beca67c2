// Products of matrices and convolutions for the interpreter, float32, on threads of their own.

#include <cstdint>
#include <functional>
#include <new>

#include "export.h"
#include "ffi/convolution.h"
#include "ffi/products.h"
#include "parallel.h"

namespace {

// Calls `compute(threading)`; returns 0, or 1 without memory.
template <typename Compute>
int64_t run(int64_t threads, const Compute& compute) {
  const auto each = [threads](int64_t pieces, const std::function<void(int64_t)>& work) {
    headrace::for_each_piece(pieces, threads, work);
  };
  try {
    compute(headrace::Threading{threads, each});
  } catch (const std::bad_alloc&) {
    return 1;
  }
  return 0;
}

}  // namespace

// a is [m, k], or [k, m] if it is to be turned; b is [k, n], or [n, k].
HEADRACE_EXPORT int64_t headrace_host_product(const float* a, int64_t turn_a, const float* b, int64_t turn_b, float* c,
                                              int64_t m, int64_t n, int64_t k, int64_t threads) {
  return run(threads, [&](const headrace::Threading& threading) {
    headrace::Work work;
    work.products.push_back(headrace::matrix_product(a, turn_a != 0, b, turn_b != 0, c, m, n, k));
    work.cut(threads);
    headrace::compute(work, threading);
  });
}

// `which` is 0 for the convolution (a: images, b: filter), 1 for the gradient of the images (a: filter, b: gradient of
// the output), 2 for that of the filter (a: images, b: gradient of the output). The geometry: images, channels,
// filters, groups, then along three axes sizes, windows, outputs, steps, dilations and padding before. Returns 2 for
// what is no convolution.
HEADRACE_EXPORT int64_t headrace_host_convolution(int64_t which, const int64_t* geometry, const float* a, const float* b,
                                                  float* out, int64_t threads) {
  headrace::Convolution of{geometry[0], geometry[1], geometry[2], geometry[3], {}, {}, {}, {}, {}, {}};
  for (int i = 0; i < 3; ++i) {
    of.size[i] = geometry[4 + i];
    of.window[i] = geometry[7 + i];
    of.outputs[i] = geometry[10 + i];
    of.step[i] = geometry[13 + i];
    of.dilation[i] = geometry[16 + i];
    of.before[i] = geometry[19 + i];
  }
  if (!of.is_sound()) return 2;
  return run(threads, [&](const headrace::Threading& threading) {
    if (which == 0) of.forward(a, b, out, nullptr, threading);
    if (which == 1) of.input_gradient(a, b, out, threading);
    if (which == 2) of.filter_gradient(a, b, out, threading);
  });
}

// What multiplies on this CPU: "avx512", "avx2" or "plain".
HEADRACE_EXPORT const char* headrace_host_product_code() { return headrace::product_code().name; }
