// A loop over pieces on XLA's own threads.
#pragma once

#include <cstdint>

#include "ffi/helpers.h"
#include "xla/ffi/api/ffi.h"

namespace headrace {

// Calls `work(piece)` for each piece below `pieces`.
template <typename Work>
void for_each_piece(xla::ffi::ThreadPool pool, int64_t pieces, const Work& work) {
  const auto schedule = [](const void* of) {
    xla::ffi::ThreadPool pool = *static_cast<const xla::ffi::ThreadPool*>(of);
    pool.Schedule([] { help(); });
  };
  share(
      pieces, {pool.num_threads(), schedule, &pool},
      [](const void* of, int64_t piece) { (*static_cast<const Work*>(of))(piece); }, &work);
}

}  // namespace headrace
