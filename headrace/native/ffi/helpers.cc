// Threads that help with loops over pieces.

#include "ffi/helpers.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::microseconds(200);  // between products of a step that is all products
constexpr auto kShort = std::chrono::microseconds(500);     // a job that waking a thread delays noticeably

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits for a condition without sleeping, for a moment; returns whether it came true. Other threads that want to run on
// this core may.
template <typename Condition>
bool soon(const Condition& condition) {
  const auto end = Clock::now() + kPatience;
  do {
    for (int i = 0; i < 16; ++i) {
      if (condition()) return true;
      pause();
    }
    sched_yield();
  } while (Clock::now() < end);
  return condition();
}

// What it guards takes nanoseconds: nobody sleeps for that.
class Lock {
 public:
  void lock() {
    while (held_.exchange(true, std::memory_order_acquire)) {
      for (int i = 0; held_.load(std::memory_order_relaxed); ++i) i < 64 ? pause() : static_cast<void>(sched_yield());
    }
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

struct Job {
  void (*work)(const void*, int64_t);
  const void* of;
  int64_t pieces;
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> helping{0};
  int64_t threads;  // that may run at a time, for this job and all others
  int64_t wanted;   // helpers that may come yet
  Job* other;

  void run() {
    for (int64_t piece; (piece = next.fetch_add(1, std::memory_order_relaxed)) < pieces;) work(of, piece);
  }
  bool has_more() const { return next.load(std::memory_order_relaxed) < pieces; }
};

class Helpers {
 public:
  void share(Job& job, const Threads& threads) {
    int64_t missing;
    {
      const std::lock_guard<Lock> guard(lock_);
      job.other = jobs_;
      jobs_ = &job;
      missing = std::min(job.wanted, job.threads - ++running_) - free_;
      if (missing > 0) free_ += missing;
    }
    posted_.fetch_add(1);
    for (; missing > 0; --missing) threads.schedule(threads.pool);
    job.run();
    bool is_more;
    {
      const std::lock_guard<Lock> guard(lock_);
      Job** at = &jobs_;
      while (*at != &job) at = &(*at)->other;
      *at = job.other;  // nobody comes any more
      --running_;
      is_more = open() != nullptr;
    }
    if (is_more) posted_.fetch_add(1);
    const auto is_done = [&] { return job.helping.load(std::memory_order_acquire) == 0; };
    if (is_done() || soon(is_done)) return;
    std::unique_lock<std::mutex> sleeping(mutex_);
    waiting_.fetch_add(1);
    done_.wait(sleeping, is_done);
    waiting_.fetch_sub(1);
  }

  void help() {
    bool is_short = true;  // the last job
    for (;;) {
      const uint64_t seen = posted_.load();
      if (Job* job = join()) {
        const auto begin = Clock::now();
        job->run();
        leave(*job);
        is_short = Clock::now() - begin < kShort;
        if (waiting_.load() > 0) {
          { const std::lock_guard<std::mutex> sleeping(mutex_); }
          done_.notify_all();
        }
        continue;
      }
      // Between long jobs the thread is for whatever else XLA has for it.
      if (is_short && soon([&] { return posted_.load() != seen; })) continue;
      const std::lock_guard<Lock> guard(lock_);
      if (open() != nullptr) continue;
      --free_;
      return;
    }
  }

 private:
  Job* open() const {
    for (Job* job = jobs_; job != nullptr; job = job->other) {
      if (job->wanted > 0 && running_ < job->threads && job->has_more()) return job;
    }
    return nullptr;
  }

  Job* join() {
    const std::lock_guard<Lock> guard(lock_);
    Job* job = open();
    if (job == nullptr) return nullptr;
    ++running_;
    --free_;
    --job->wanted;
    job->helping.fetch_add(1, std::memory_order_relaxed);
    return job;
  }

  void leave(Job& job) {
    const std::lock_guard<Lock> guard(lock_);
    --running_;
    ++free_;
    job.helping.fetch_sub(1);  // after this the job may be gone
  }

  Lock lock_;  // of what follows
  Job* jobs_ = nullptr;
  int64_t running_ = 0, free_ = 0;  // callers and helpers that are at work; helpers that look out, or were sent for
  std::atomic<uint64_t> posted_{0};  // how often there was something to do
  std::atomic<int64_t> waiting_{0};
  std::mutex mutex_;  // of those who sleep
  std::condition_variable done_;
};

Helpers& helpers() {
  static Helpers* const all = new Helpers;  // threads may outlive what is destroyed when a process ends
  return *all;
}

}  // namespace

void share(int64_t pieces, const Threads& threads, void (*work)(const void* of, int64_t piece), const void* of) {
  if (pieces <= 1 || threads.count <= 1) {
    for (int64_t piece = 0; piece < pieces; ++piece) work(of, piece);
    return;
  }
  Job job{work, of, pieces, {0}, {0}, threads.count, std::min(pieces, threads.count) - 1, nullptr};
  helpers().share(job, threads);
}

void help() { helpers().help(); }

}  // namespace headrace
