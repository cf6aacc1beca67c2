// What compiled programs call: products of matrices, convolutions and their gradients, float32.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <new>

#include "export.h"
#include "ffi/convolution.h"
#include "ffi/finish.h"
#include "ffi/pool.h"
#include "ffi/products.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

// Buffers come with the axes that they have: what XLA would have to reshape before, it would compute a second time for
// whoever else uses it.
using Dimensions = ffi::AnyBuffer::Dimensions;

bool are_single(std::initializer_list<ffi::DataType> types) {
  return std::all_of(types.begin(), types.end(), [](ffi::DataType type) { return type == ffi::F32; });
}

// Calls `compute(threading)`.
template <typename Compute>
ffi::Error run(ffi::ThreadPool pool, const Compute& compute) {
  const auto each = [pool](int64_t pieces, const std::function<void(int64_t)>& work) {
    headrace::for_each_piece(pool, pieces, work);
  };
  try {
    compute(headrace::Threading{static_cast<int64_t>(pool.num_threads()), each});
  } catch (const std::bad_alloc&) {
    return ffi::Error(ffi::ErrorCode::kResourceExhausted, "no memory for the parts of a product");
  }
  return ffi::Error::Success();
}

ffi::Error product(ffi::ThreadPool pool, ffi::AnyBuffer a, ffi::AnyBuffer b, ffi::RemainingArgs rest,
                   ffi::Result<ffi::AnyBuffer> c, bool turn_a, bool turn_b, int64_t finish) {
  const Dimensions left = a.dimensions(), right = b.dimensions(), out = c->dimensions();
  const size_t rank = out.size();
  if (!are_single({a.element_type(), b.element_type(), c->element_type()}) || rank < 2 || left.size() != rank ||
      right.size() != rank || !std::equal(out.begin(), out.end() - 2, left.begin()) ||
      !std::equal(out.begin(), out.end() - 2, right.begin())) {
    return ffi::Error::InvalidArgument("the operands of a product do not fit");
  }
  const auto size = [rank](const Dimensions& of, bool is_last) { return of[rank - 2 + is_last]; };
  const int64_t m = size(out, false), n = size(out, true), k = size(left, !turn_a);
  if (size(left, turn_a) != m || size(right, !turn_b) != n || size(right, turn_b) != k) {
    return ffi::Error::InvalidArgument("the shapes of a product do not fit");
  }
  int64_t count = 1;
  for (size_t i = 0; i + 2 < rank; ++i) count *= out[i];
  const float *x = a.typed_data<float>(), *y = b.typed_data<float>();
  float* z = c->typed_data<float>();
  headrace::Finish ends{};
  const auto error = headrace::read_finish(finish, rest, n, count * m * n, z, ends);
  if (error.failure()) return error;
  return run(pool, [&](const headrace::Threading& threading) {
    headrace::Work work;
    work.products.reserve(count);
    for (int64_t i = 0; i < count; ++i) {
      work.products.push_back(headrace::matrix_product(x + i * m * k, turn_a, y + i * k * n, turn_b, z + i * m * n, m, n, k));
      if (finish != 0) headrace::finish_product(work.products.back(), ends, 0);
    }
    work.cut(threading.threads);
    headrace::compute(work, threading);
  });
}

// Writes sizes along three axes, ones before those that are there, and the two others; false if there are too many.
bool read(const Dimensions& of, size_t axes, int64_t* sizes, int64_t& first, int64_t& last, bool is_filter) {
  if (of.size() != axes + 2 || axes < 1 || axes > 3) return false;
  const int64_t* spatial = of.begin() + (is_filter ? 0 : 1);
  std::fill(sizes, sizes + 3 - axes, 1);
  std::copy(spatial, spatial + axes, sizes + 3 - axes);
  first = is_filter ? of[axes] : of[0];
  last = of[axes + 1];
  return true;
}

// The geometry: the groups, then steps, dilations and padding before along three axes.
ffi::Error convolution(ffi::Span<const int64_t> geometry, const ffi::AnyBuffer& x, const ffi::AnyBuffer& w,
                       const ffi::AnyBuffer& y, headrace::Convolution& of) {
  if (geometry.size() != 10) return ffi::Error::InvalidArgument("a convolution's geometry is ten numbers");
  const size_t axes = x.dimensions().size() - 2;
  int64_t images, outputs, channels;
  if (!are_single({x.element_type(), w.element_type(), y.element_type()}) ||
      !read(x.dimensions(), axes, of.size, of.images, of.channels, false) ||
      !read(w.dimensions(), axes, of.window, channels, of.filters, true) ||
      !read(y.dimensions(), axes, of.outputs, images, outputs, false)) {
    return ffi::Error::InvalidArgument("the operands of a convolution do not fit");
  }
  of.groups = geometry[0];
  for (int i = 0; i < 3; ++i) {
    of.step[i] = geometry[1 + i];
    of.dilation[i] = geometry[4 + i];
    of.before[i] = geometry[7 + i];
  }
  if (!of.is_sound() || images != of.images || outputs != of.filters || channels * of.groups != of.channels) {
    return ffi::Error::InvalidArgument("the shapes of a convolution do not fit");
  }
  return ffi::Error::Success();
}

ffi::Error forward(ffi::ThreadPool pool, ffi::AnyBuffer x, ffi::AnyBuffer w, ffi::RemainingArgs rest,
                   ffi::Result<ffi::AnyBuffer> y, ffi::Span<const int64_t> geometry, int64_t finish) {
  headrace::Convolution of;
  auto error = convolution(geometry, x, w, *y, of);
  if (error.failure()) return error;
  headrace::Finish ends{};
  error = headrace::read_finish(finish, rest, of.filters, y->element_count(), y->typed_data<float>(), ends);
  if (error.failure()) return error;
  return run(pool, [&](const headrace::Threading& threading) {
    of.forward(x.typed_data<float>(), w.typed_data<float>(), y->typed_data<float>(), finish == 0 ? nullptr : &ends,
               threading);
  });
}

ffi::Error input_gradient(ffi::ThreadPool pool, ffi::AnyBuffer w, ffi::AnyBuffer dy, ffi::Result<ffi::AnyBuffer> dx,
                          ffi::Span<const int64_t> geometry) {
  headrace::Convolution of;
  const auto error = convolution(geometry, *dx, w, dy, of);
  if (error.failure()) return error;
  return run(pool, [&](const headrace::Threading& threading) {
    of.input_gradient(w.typed_data<float>(), dy.typed_data<float>(), dx->typed_data<float>(), threading);
  });
}

ffi::Error filter_gradient(ffi::ThreadPool pool, ffi::AnyBuffer x, ffi::AnyBuffer dy, ffi::Result<ffi::AnyBuffer> dw,
                           ffi::Span<const int64_t> geometry) {
  headrace::Convolution of;
  const auto error = convolution(geometry, x, *dw, dy, of);
  if (error.failure()) return error;
  return run(pool, [&](const headrace::Threading& threading) {
    of.filter_gradient(x.typed_data<float>(), dy.typed_data<float>(), dw->typed_data<float>(), threading);
  });
}

auto of_images() {
  return ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>().Attr<
      ffi::Span<const int64_t>>("geometry");
}

}  // namespace

#pragma GCC visibility push(default)

XLA_FFI_DEFINE_HANDLER_SYMBOL(headrace_product, product,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::AnyBuffer>()
                                  .Arg<ffi::AnyBuffer>()
                                  .RemainingArgs()
                                  .Ret<ffi::AnyBuffer>()
                                  .Attr<bool>("turn_a")
                                  .Attr<bool>("turn_b")
                                  .Attr<int64_t>("finish"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(headrace_convolution, forward,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::AnyBuffer>()
                                  .Arg<ffi::AnyBuffer>()
                                  .RemainingArgs()
                                  .Ret<ffi::AnyBuffer>()
                                  .Attr<ffi::Span<const int64_t>>("geometry")
                                  .Attr<int64_t>("finish"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(headrace_convolution_input_gradient, input_gradient, of_images());
XLA_FFI_DEFINE_HANDLER_SYMBOL(headrace_convolution_filter_gradient, filter_gradient, of_images());

#pragma GCC visibility pop

// What multiplies on this CPU: "avx512", "avx2" or "plain".
HEADRACE_EXPORT const char* headrace_product_code() { return headrace::product_code().name; }
