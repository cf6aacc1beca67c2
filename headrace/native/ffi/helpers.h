// A loop over pieces on several threads, which are awake for a moment after each.
#pragma once

#include <cstdint>

namespace headrace {

// Has a thread that waits for work call `help`.
struct Threads {
  int64_t count;  // that may run at a time, callers among them
  void (*schedule)(const void* pool);
  const void* pool;
};

// Calls `work(of, piece)` for each piece below `pieces`. The caller takes part: it ends even if no thread is free, and
// returns when all is done.
//
// A step of a recurrent net is hundreds of products of a few dozen microseconds each, as long as it takes to wake a
// thread that sleeps. Whoever helped therefore looks out for more work for a moment before it goes back to where it came
// from, and the caller looks out for the last helper's end.
void share(int64_t pieces, const Threads& threads, void (*work)(const void* of, int64_t piece), const void* of);

// What a thread does that helps: whatever there is to do, and a little waiting.
void help();

}  // namespace headrace
