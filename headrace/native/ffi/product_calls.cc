// What compiled programs call: products of matrices, convolutions and their gradients, float32.

#include <cstdint>
#include <new>

#include "export.h"
#include "ffi/convolution.h"
#include "ffi/pool.h"
#include "ffi/products.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

using Matrices = ffi::Buffer<ffi::F32, 3>;
using Images = ffi::Buffer<ffi::F32, 5>;

template <typename Fill>
ffi::Error run(ffi::ThreadPool pool, const Fill& fill) {
  headrace::Work work;
  try {
    fill(work);
    work.cut(pool.num_threads());
  } catch (const std::bad_alloc&) {
    return ffi::Error(ffi::ErrorCode::kResourceExhausted, "no memory for the parts of a product");
  }
  headrace::for_each_piece(pool, static_cast<int64_t>(work.parts.size()), [&](int64_t part) { work.compute(part); });
  if (!work.sums.empty()) {
    headrace::for_each_piece(pool, static_cast<int64_t>(work.sums.size()), [&](int64_t sum) { work.add(sum); });
  }
  return ffi::Error::Success();
}

ffi::Error product(ffi::ThreadPool pool, Matrices a, Matrices b, ffi::Result<Matrices> c, bool turn_a, bool turn_b) {
  const auto left = a.dimensions(), right = b.dimensions(), out = c->dimensions();
  const int64_t count = out[0], m = out[1], n = out[2], k = turn_a ? left[1] : left[2];
  if (left[0] != count || right[0] != count || (turn_a ? left[2] : left[1]) != m || (turn_b ? right[1] : right[2]) != n ||
      (turn_b ? right[2] : right[1]) != k) {
    return ffi::Error::InvalidArgument("the shapes of a product do not fit");
  }
  return run(pool, [&](headrace::Work& work) {
    work.products.reserve(count);
    for (int64_t i = 0; i < count; ++i) {
      work.products.push_back(headrace::matrix_product(a.typed_data() + i * m * k, turn_a, b.typed_data() + i * k * n,
                                                       turn_b, c->typed_data() + i * m * n, m, n, k));
    }
  });
}

// The geometry: the groups, then steps, dilations and padding before along three axes.
ffi::Error convolution(ffi::Span<const int64_t> geometry, ffi::Span<const int64_t> x,
                       ffi::Span<const int64_t> w, ffi::Span<const int64_t> y, headrace::Convolution& of) {
  if (geometry.size() != 10) return ffi::Error::InvalidArgument("a convolution's geometry is ten numbers");
  of.images = x[0];
  of.channels = x[4];
  of.filters = w[4];
  of.groups = geometry[0];
  for (int i = 0; i < 3; ++i) {
    of.size[i] = x[1 + i];
    of.window[i] = w[i];
    of.outputs[i] = y[1 + i];
    of.step[i] = geometry[1 + i];
    of.dilation[i] = geometry[4 + i];
    of.before[i] = geometry[7 + i];
  }
  if (!of.is_sound() || y[0] != x[0] || y[4] != w[4] || w[3] * of.groups != x[4]) {
    return ffi::Error::InvalidArgument("the shapes of a convolution do not fit");
  }
  return ffi::Error::Success();
}

ffi::Error forward(ffi::ThreadPool pool, Images x, Images w, ffi::Result<Images> y, ffi::Span<const int64_t> geometry) {
  headrace::Convolution of;
  const auto error = convolution(geometry, x.dimensions(), w.dimensions(), y->dimensions(), of);
  if (error.failure()) return error;
  return run(pool,
             [&](headrace::Work& work) { of.forward(x.typed_data(), w.typed_data(), y->typed_data(), work); });
}

ffi::Error input_gradient(ffi::ThreadPool pool, Images w, Images dy, ffi::Result<Images> dx,
                          ffi::Span<const int64_t> geometry) {
  headrace::Convolution of;
  const auto error = convolution(geometry, dx->dimensions(), w.dimensions(), dy.dimensions(), of);
  if (error.failure()) return error;
  return run(pool,
             [&](headrace::Work& work) { of.input_gradient(w.typed_data(), dy.typed_data(), dx->typed_data(), work); });
}

ffi::Error filter_gradient(ffi::ThreadPool pool, Images x, Images dy, ffi::Result<Images> dw,
                           ffi::Span<const int64_t> geometry) {
  headrace::Convolution of;
  const auto error = convolution(geometry, x.dimensions(), dw->dimensions(), dy.dimensions(), of);
  if (error.failure()) return error;
  return run(pool,
             [&](headrace::Work& work) { of.filter_gradient(x.typed_data(), dy.typed_data(), dw->typed_data(), work); });
}

auto of_images() {
  return ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<Images>().Arg<Images>().Ret<Images>().Attr<
      ffi::Span<const int64_t>>("geometry");
}

}  // namespace

#pragma GCC visibility push(default)

XLA_FFI_DEFINE_HANDLER_SYMBOL(headrace_product, product,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Matrices>()
                                  .Arg<Matrices>()
                                  .Ret<Matrices>()
                                  .Attr<bool>("turn_a")
                                  .Attr<bool>("turn_b"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(headrace_convolution, forward, of_images());
XLA_FFI_DEFINE_HANDLER_SYMBOL(headrace_convolution_input_gradient, input_gradient, of_images());
XLA_FFI_DEFINE_HANDLER_SYMBOL(headrace_convolution_filter_gradient, filter_gradient, of_images());

#pragma GCC visibility pop

// What multiplies on this CPU: "avx512", "avx2" or "plain".
HEADRACE_EXPORT const char* headrace_product_code() { return headrace::product_code().name; }
