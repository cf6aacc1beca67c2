// A loop over pieces on a few threads, for kernels that the interpreter calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace headrace {

// Calls `work(piece)` for each piece below `pieces`, on at most `threads` threads, of which the caller is one.
template <typename Work>
void for_each_piece(int64_t pieces, int64_t threads, const Work& work) {
  std::atomic<int64_t> next{0};
  const auto run = [&] {
    for (int64_t piece; (piece = next.fetch_add(1, std::memory_order_relaxed)) < pieces;) work(piece);
  };
  std::vector<std::thread> others;
  for (int64_t i = 1; i < threads && i < pieces; ++i) {
    try {
      others.emplace_back(run);
    } catch (const std::system_error&) {
      break;  // no more threads to be had: those that are there do it
    }
  }
  run();
  for (auto& thread : others) thread.join();
}

}  // namespace headrace
