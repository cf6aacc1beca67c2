// Random words for compiled programs.

#include <algorithm>
#include <cstdint>

#include "philox.h"
#include "pool.h"
#include "xla/ffi/api/ffi.h"

namespace {

namespace ffi = xla::ffi;

constexpr int64_t kPiece = 4096;  // blocks that one thread makes before it asks for more

using Words = ffi::Buffer<ffi::U32, 1>;
using Blocks = ffi::Buffer<ffi::U32, 2>;

ffi::Error philox_blocks(ffi::ThreadPool pool, Words key, Words counter, ffi::Result<Blocks> out, int64_t stride) {
  if (key.element_count() != 2 || counter.element_count() != 4 || out->dimensions()[1] != 4) {
    return ffi::Error::InvalidArgument("a stream has two words of key and four of counter");
  }
  const headrace::Stream stream = headrace::stream_of(key.typed_data(), counter.typed_data());
  const int64_t total = out->dimensions()[0];
  uint32_t* to = out->typed_data();
  headrace::for_each_piece(pool, (total + kPiece - 1) / kPiece, [&](int64_t piece) {
    uint32_t words[4][headrace::kTogether];
    const int64_t end = std::min(total, (piece + 1) * kPiece);
    for (int64_t i = piece * kPiece; i < end; i += headrace::kTogether) {
      headrace::blocks(&stream, static_cast<uint64_t>(i) * stride, stride, words);
      const int64_t here = std::min<int64_t>(end - i, headrace::kTogether);
      for (int64_t at = 0; at < here; ++at) {
        for (int w = 0; w < 4; ++w) to[4 * (i + at) + w] = words[w][at];
      }
    }
  });
  return ffi::Error::Success();
}

}  // namespace

#pragma GCC visibility push(default)

XLA_FFI_DEFINE_HANDLER_SYMBOL(headrace_philox_blocks, philox_blocks,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Words>()
                                  .Arg<Words>()
                                  .Ret<Blocks>()
                                  .Attr<int64_t>("stride"));

#pragma GCC visibility pop
