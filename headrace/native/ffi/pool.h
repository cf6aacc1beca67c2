// A loop over pieces on XLA's own threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "xla/ffi/api/ffi.h"

namespace headrace {

// Calls `work(piece)` for each piece below `pieces`. The caller takes part, so that it ends even if no thread is free.
template <typename Work>
void for_each_piece(xla::ffi::ThreadPool pool, int64_t pieces, const Work& work) {
  struct Shared {
    std::atomic<int64_t> next{0};
    std::mutex mutex;
    std::condition_variable finished;
    int64_t done = 0;
  };
  const auto shared = std::make_shared<Shared>();
  // A thread that comes when all is done touches `shared` alone: `work` may be gone.
  const auto run = [shared, pieces, &work] {
    int64_t mine = 0;
    for (int64_t piece; (piece = shared->next.fetch_add(1)) < pieces; ++mine) work(piece);
    if (mine == 0) return;
    const std::lock_guard<std::mutex> lock(shared->mutex);
    shared->done += mine;
    if (shared->done == pieces) shared->finished.notify_all();
  };
  const int64_t threads = pool.num_threads();
  for (int64_t i = 1; i < threads && i < pieces; ++i) {
    auto task = run;
    pool.Schedule(std::move(task));
  }
  run();
  std::unique_lock<std::mutex> lock(shared->mutex);
  shared->finished.wait(lock, [&] { return shared->done == pieces; });
}

}  // namespace headrace
