// A loop over pieces on as many threads as XLA has.
#pragma once

#include <cstdint>

#include "ffi/helpers.h"
#include "xla/ffi/api/ffi.h"

namespace headrace {

// Calls `work(piece)` for each piece below `pieces`. XLA's own threads would sleep between two calls.
template <typename Work>
void for_each_piece(xla::ffi::ThreadPool pool, int64_t pieces, const Work& work) {
  for_each_piece(pieces, pool.num_threads(), work);
}

}  // namespace headrace
