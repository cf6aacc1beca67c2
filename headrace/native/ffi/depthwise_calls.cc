// What compiled programs call: convolutions of every channel with a filter of its own, and their gradients, float32.

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "ffi/depthwise.h"
#include "ffi/finish.h"
#include "ffi/pool.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

using Images = ffi::Buffer<ffi::F32, 4>;
using Filter = ffi::Buffer<ffi::F32, 3>;
using Sizes = ffi::Span<const int64_t>;

// The geometry: steps, dilations and padding before along height and width.
ffi::Error depthwise(Sizes geometry, Sizes x, Sizes w, Sizes y, headrace::Depthwise& of) {
  if (geometry.size() != 6) return ffi::Error::InvalidArgument("a depthwise convolution's geometry is six numbers");
  of.images = x[0];
  of.channels = x[3];
  for (int i = 0; i < 2; ++i) {
    of.size[i] = x[1 + i];
    of.window[i] = w[i];
    of.outputs[i] = y[1 + i];
    of.step[i] = geometry[i];
    of.dilation[i] = geometry[2 + i];
    of.before[i] = geometry[4 + i];
  }
  if (!of.is_sound() || y[0] != x[0] || y[3] != x[3] || w[2] != x[3]) {
    return ffi::Error::InvalidArgument("the shapes of a depthwise convolution do not fit");
  }
  return ffi::Error::Success();
}

ffi::Error gather(ffi::ThreadPool pool, const headrace::Depthwise& of, bool is_gradient, const float* source,
                  const float* filter, float* result, const headrace::Finish* finish) {
  headrace::Gathering gathering(of, is_gradient);
  gathering.finish = finish;
  headrace::for_each_piece(pool, gathering.pieces(),
                           [&](int64_t piece) { gathering.compute(source, filter, result, piece); });
  return ffi::Error::Success();
}

ffi::Error forward(ffi::ThreadPool pool, Images x, Filter w, ffi::RemainingArgs rest, ffi::Result<Images> y,
                   Sizes geometry, int64_t finish) {
  headrace::Depthwise of;
  auto error = depthwise(geometry, x.dimensions(), w.dimensions(), y->dimensions(), of);
  if (error.failure()) return error;
  headrace::Finish ends{};
  error = headrace::read_finish(finish, rest, of.channels, y->element_count(), y->typed_data(), ends);
  if (error.failure()) return error;
  return gather(pool, of, false, x.typed_data(), w.typed_data(), y->typed_data(), finish == 0 ? nullptr : &ends);
}

ffi::Error input_gradient(ffi::ThreadPool pool, Images dy, Filter w, ffi::Result<Images> dx, Sizes geometry) {
  headrace::Depthwise of;
  const auto error = depthwise(geometry, dx->dimensions(), w.dimensions(), dy.dimensions(), of);
  if (error.failure()) return error;
  return gather(pool, of, true, dy.typed_data(), w.typed_data(), dx->typed_data(), nullptr);
}

struct Free {
  void operator()(float* p) const { std::free(p); }
};

ffi::Error filter_gradient(ffi::ThreadPool pool, Images x, Images dy, ffi::Result<Filter> dw, Sizes geometry) {
  headrace::Depthwise of;
  const auto error = depthwise(geometry, x.dimensions(), dw->dimensions(), dy.dimensions(), of);
  if (error.failure()) return error;
  const headrace::FilterSums sums(of);
  const std::unique_ptr<float, Free> partials(
      static_cast<float*>(std::malloc(sizeof(float) * (sums.partial_size() + 1))));
  if (partials == nullptr) {
    return ffi::Error(ffi::ErrorCode::kResourceExhausted, "no memory for the parts of a filter's gradient");
  }
  headrace::for_each_piece(pool, sums.pieces(), [&](int64_t piece) {
    sums.compute(x.typed_data(), dy.typed_data(), partials.get(), piece);
  });
  sums.add(partials.get(), dw->typed_data());
  return ffi::Error::Success();
}

template <typename Second, typename Result>
auto bound() {
  return ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<Images>().template Arg<Second>().template Ret<Result>()
      .template Attr<Sizes>("geometry");
}

}  // namespace

#pragma GCC visibility push(default)

XLA_FFI_DEFINE_HANDLER_SYMBOL(headrace_depthwise, forward,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Images>()
                                  .Arg<Filter>()
                                  .RemainingArgs()
                                  .Ret<Images>()
                                  .Attr<Sizes>("geometry")
                                  .Attr<int64_t>("finish"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(headrace_depthwise_input_gradient, input_gradient, (bound<Filter, Images>()));
XLA_FFI_DEFINE_HANDLER_SYMBOL(headrace_depthwise_filter_gradient, filter_gradient, (bound<Images, Filter>()));

#pragma GCC visibility pop
