// Products of matrices and convolutions for the interpreter, float32, on threads of their own.

#include <cstdint>
#include <functional>
#include <new>
#include <vector>

#include "export.h"
#include "ffi/convolution.h"
#include "ffi/depthwise.h"
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

// The same for a filter of every channel's own. The geometry: images, channels, then along both axes sizes, windows,
// outputs, steps, dilations and padding before.
HEADRACE_EXPORT int64_t headrace_host_depthwise(int64_t which, const int64_t* geometry, const float* a, const float* b,
                                                float* out, int64_t threads) {
  headrace::Depthwise of{geometry[0], geometry[1], {}, {}, {}, {}, {}, {}};
  for (int i = 0; i < 2; ++i) {
    of.size[i] = geometry[2 + i];
    of.window[i] = geometry[4 + i];
    of.outputs[i] = geometry[6 + i];
    of.step[i] = geometry[8 + i];
    of.dilation[i] = geometry[10 + i];
    of.before[i] = geometry[12 + i];
  }
  if (!of.is_sound()) return 2;
  return run(threads, [&](const headrace::Threading& threading) {
    if (which == 2) {
      const headrace::FilterSums sums(of);
      std::vector<float> partials(sums.partial_size() + 1);
      threading.each(sums.pieces(), [&](int64_t piece) { sums.compute(a, b, partials.data(), piece); });
      sums.add(partials.data(), out);
    } else {
      const headrace::Gathering gathering(of, which == 1);
      const float* source = which == 1 ? b : a;
      const float* filter = which == 1 ? a : b;
      threading.each(gathering.pieces(), [&](int64_t piece) { gathering.compute(source, filter, out, piece); });
    }
  });
}

// What multiplies on this CPU: "avx512", "avx2" or "plain".
HEADRACE_EXPORT const char* headrace_host_product_code() { return headrace::product_code().name; }
