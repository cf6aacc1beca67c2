// The gradient of max pooling over height and width, float32, channels last.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "export.h"
#include "ffi/pool.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

constexpr int64_t kChannels = 64;  // that are looked at together: a piece of work is these channels of one image

struct Windows {
  int64_t height, width, channels;  // of the input
  int64_t rows, columns;            // how many windows there are
  int64_t window_height, window_width, row_step, column_step, top, left;
};

struct Range {
  int64_t begin, end;
};

inline Range inside(int64_t index, int64_t step, int64_t before, int64_t size, int64_t limit) {
  const int64_t start = index * step - before;
  return {std::max<int64_t>(start, 0), std::min(start + size, limit)};
}

// Sixteen channels at a time: one register or several, as the CPU has them.
constexpr int64_t kLanes = 16;
typedef float Numbers __attribute__((vector_size(4 * kLanes)));
typedef int32_t Places __attribute__((vector_size(4 * kLanes)));

// Some channels of the elements of one window, and of its gradient.
struct Window {
  Range h, w;
  int64_t width, channels;
  const float* x;
  const float* gradient;
  float* dx;
};

// The first element is the greatest until another exceeds it, which nothing does where it is NaN.
template <typename Value, typename Place>
inline __attribute__((always_inline)) void to_first_greatest(const Window& of, int64_t c) {
  Value best, value, gradient;
  const int32_t first = static_cast<int32_t>(of.h.begin * of.width + of.w.begin);
  std::memcpy(&best, of.x + first * of.channels + c, sizeof best);
  Place at = Place{} + first;
  for (int64_t i = of.h.begin; i < of.h.end; ++i) {
    for (int64_t j = of.w.begin; j < of.w.end; ++j) {
      const int32_t place = static_cast<int32_t>(i * of.width + j);
      std::memcpy(&value, of.x + place * of.channels + c, sizeof value);
      const auto better = value > best;
      best = better ? value : best;
      at = better ? Place{} + place : at;
    }
  }
  // Adding to every element, to most of them nothing, is quicker than finding the right one of each channel.
  std::memcpy(&gradient, of.gradient + c, sizeof gradient);
  for (int64_t i = of.h.begin; i < of.h.end; ++i) {
    for (int64_t j = of.w.begin; j < of.w.end; ++j) {
      const int32_t place = static_cast<int32_t>(i * of.width + j);
      float* target = of.dx + place * of.channels + c;
      std::memcpy(&value, target, sizeof value);
      value += at == place ? gradient : Value{};
      std::memcpy(target, &value, sizeof value);
    }
  }
}

// Sends each gradient of maxima to where they are, in one image's channels from `first` on.
HEADRACE_CLONES
void max_gradient(const Windows* of, const float* x, const float* dy, float* dx, int64_t first, int64_t count) {
  for (int64_t row = 0; row < of->rows; ++row) {
    const Range h = inside(row, of->row_step, of->top, of->window_height, of->height);
    for (int64_t column = 0; column < of->columns; ++column) {
      const Range w = inside(column, of->column_step, of->left, of->window_width, of->width);
      if (h.begin >= h.end || w.begin >= w.end) continue;
      const float* gradient = dy + (row * of->columns + column) * of->channels + first;
      const Window window{h, w, of->width, of->channels, x + first, gradient, dx + first};
      int64_t c = 0;
      for (; c + kLanes <= count; c += kLanes) to_first_greatest<Numbers, Places>(window, c);
      for (; c < count; ++c) to_first_greatest<float, int32_t>(window, c);
    }
  }
}

// Calls `work(image, first channel, how many)` for all of them, on XLA's threads, after clearing these in `dx`.
template <typename Work>
void for_each_part(ffi::ThreadPool pool, int64_t images, const Windows& of, float* dx, const Work& work) {
  const int64_t groups = (of.channels + kChannels - 1) / kChannels;
  const int64_t places = of.height * of.width;
  headrace::for_each_piece(pool, images * groups, [&](int64_t piece) {
    const int64_t image = piece / groups, first = piece % groups * kChannels;
    const int64_t count = std::min(kChannels, of.channels - first);
    float* start = dx + image * places * of.channels + first;
    for (int64_t i = 0; i < places; ++i) std::memset(start + i * of.channels, 0, sizeof(float) * count);
    work(image, first, count);
  });
}

using Image = ffi::Buffer<ffi::F32, 4>;

Windows windows_of(ffi::Span<const int64_t> input, ffi::Span<const int64_t> output,
                   ffi::Span<const int64_t> geometry) {
  return {input[1],    input[2],    input[3],    output[1],   output[2],  geometry[0],
          geometry[1], geometry[2], geometry[3], geometry[4], geometry[5]};
}

ffi::Error refusal(const Windows& of, ffi::Span<const int64_t> input, ffi::Span<const int64_t> output) {
  if (input[0] != output[0] || input[3] != output[3] || of.row_step < 1 || of.column_step < 1 ||
      of.height * of.width > INT32_MAX) {
    return ffi::Error::InvalidArgument("the gradient of pooling does not fit the input");
  }
  return ffi::Error::Success();
}

ffi::Error max_pool_gradient(ffi::ThreadPool pool, Image x, Image dy, ffi::Result<Image> dx,
                             ffi::Span<const int64_t> geometry) {
  const Windows of = windows_of(x.dimensions(), dy.dimensions(), geometry);
  if (auto error = refusal(of, x.dimensions(), dy.dimensions()); error.failure()) return error;
  const float *values = x.typed_data(), *gradients = dy.typed_data();
  float* out = dx->typed_data();
  for_each_part(pool, x.dimensions()[0], of, out, [&](int64_t image, int64_t first, int64_t count) {
    const int64_t size = of.height * of.width * of.channels;
    max_gradient(&of, values + image * size, gradients + image * of.rows * of.columns * of.channels, out + image * size,
                 first, count);
  });
  return ffi::Error::Success();
}

}  // namespace

#pragma GCC visibility push(default)

XLA_FFI_DEFINE_HANDLER_SYMBOL(headrace_max_pool_gradient, max_pool_gradient,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Image>()
                                  .Arg<Image>()
                                  .Ret<Image>()
                                  .Attr<ffi::Span<const int64_t>>("geometry"));

#pragma GCC visibility pop

HEADRACE_EXPORT int headrace_xla_version() { return 13; }
