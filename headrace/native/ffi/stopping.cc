// Loops that run until somebody says stop: XLA itself does not listen.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "xla/ffi/api/ffi.h"

namespace {

namespace ffi = xla::ffi;

// Nanoseconds between two looks: soon for who waits, seldom enough to cost a loop of tiny iterations nothing.
constexpr int64_t kOften = 2'000'000;
constexpr int64_t kSeldom = 20'000'000;
constexpr int64_t kMost = int64_t{1} << 40;

// What Python holds while the program runs; `headrace.runtime.stopping` makes it.
struct Switch {
  std::atomic<int64_t> is_stopped;
  std::atomic<int64_t> looked;
};

// Takes where a run's switch is and how many iterations were allowed; gives how many are from here on, 0 for none.
ffi::Error go_on(ffi::Buffer<ffi::S64> at, ffi::Buffer<ffi::S64> allowed, ffi::Result<ffi::Buffer<ffi::S64>> next) {
  if (at.element_count() != 1 || allowed.element_count() != 1 || next->element_count() != 1) {
    return ffi::Error::InvalidArgument("a switch and a number are one number each");
  }
  auto* run = reinterpret_cast<Switch*>(*at.typed_data());
  const int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
  const int64_t took = now - run->looked.exchange(now);
  int64_t n = *allowed.typed_data();
  if (took < kOften) n = std::min(n * 4, kMost);
  if (took > kSeldom) n = std::max<int64_t>(n / 4, 1);
  *next->typed_data() = run->is_stopped ? 0 : n;
  return ffi::Error::Success();
}

}  // namespace

#pragma GCC visibility push(default)

XLA_FFI_DEFINE_HANDLER_SYMBOL(headrace_go_on, go_on,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::S64>>()
                                  .Arg<ffi::Buffer<ffi::S64>>()
                                  .Ret<ffi::Buffer<ffi::S64>>());

#pragma GCC visibility pop
