// A loop over pieces on several threads, which are awake for a moment after each.
#pragma once

#include <cstdint>

namespace headrace {

// Calls `work(of, piece)` for each piece below `pieces` on at most `threads` threads, of which the caller is one: it ends
// even if no other thread is free, and returns when all is done.
//
// A step of a recurrent net is hundreds of products of a few dozen microseconds each, as long as it takes to wake a
// thread that sleeps. Whoever helped therefore looks out for more work for a moment before it goes to sleep, and the
// caller looks out for the last helper's end.
void share(int64_t pieces, int64_t threads, void (*work)(const void* of, int64_t piece), const void* of);

template <typename Work>
void for_each_piece(int64_t pieces, int64_t threads, const Work& work) {
  share(
      pieces, threads, [](const void* of, int64_t piece) { (*static_cast<const Work*>(of))(piece); }, &work);
}

}  // namespace headrace
