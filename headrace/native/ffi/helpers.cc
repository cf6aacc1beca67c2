// Threads that help with loops over pieces.

#include "ffi/helpers.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

namespace headrace {
namespace {

constexpr int64_t kMostHelpers = 255;
using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::microseconds(200);  // between products of a step that is all products
constexpr auto kShort = std::chrono::microseconds(500);    // a job that waking a thread delays noticeably

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
  void share(Job& job) {
    bool is_for_helpers;
    {
      const std::lock_guard<Lock> guard(lock_);
      job.other = jobs_;
      jobs_ = &job;
      is_for_helpers = ++running_ < job.threads;
      while (is_for_helpers && threads_ < std::min(job.wanted, kMostHelpers) && start()) ++threads_;
    }
    if (is_for_helpers) post(job.wanted);
    job.run();
    {
      const std::lock_guard<Lock> guard(lock_);
      Job** at = &jobs_;
      while (*at != &job) at = &(*at)->other;
      *at = job.other;  // nobody comes any more
      --running_;
      is_for_helpers = open() != nullptr;
    }
    if (is_for_helpers) post(1);
    const auto is_done = [&] { return job.helping.load(std::memory_order_acquire) == 0; };
    if (is_done() || soon(is_done)) return;
    std::unique_lock<std::mutex> sleeping(mutex_);
    waiting_.fetch_add(1);
    done_.wait(sleeping, is_done);
    waiting_.fetch_sub(1);
  }

 private:
  bool start() {
    try {
      std::thread([this] { help(); }).detach();
      return true;
    } catch (const std::system_error&) {
      return false;  // no more threads to be had: those that are there do it
    }
  }

  // Tells so many helpers that there is something to do.
  void post(int64_t wanted) {
    posted_.fetch_add(1);
    if (asleep_.load() == 0) return;
    { const std::lock_guard<std::mutex> sleeping(mutex_); }
    if (wanted > 1) {
      work_.notify_all();
    } else {
      work_.notify_one();
    }
  }

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
    --job->wanted;
    job->helping.fetch_add(1, std::memory_order_relaxed);
    return job;
  }

  void leave(Job& job) {
    const std::lock_guard<Lock> guard(lock_);
    --running_;
    job.helping.fetch_sub(1);  // after this the job may be gone
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
      const auto is_more = [&] { return posted_.load() != seen; };
      // Between long jobs the core is for whoever else has something to do, as XLA's own threads.
      if (is_short && soon(is_more)) continue;
      std::unique_lock<std::mutex> sleeping(mutex_);
      asleep_.fetch_add(1);
      work_.wait(sleeping, is_more);
      asleep_.fetch_sub(1);
    }
  }

  Lock lock_;  // of what follows
  Job* jobs_ = nullptr;
  int64_t threads_ = 0, running_ = 0;  // helpers that there are; callers and helpers that are at work
  std::atomic<uint64_t> posted_{0};  // jobs until now
  std::atomic<int64_t> asleep_{0}, waiting_{0};
  std::mutex mutex_;  // of those who sleep
  std::condition_variable work_, done_;
};

Helpers& helpers() {
  static Helpers* const all = new Helpers;  // threads may outlive what is destroyed when a process ends
  return *all;
}

}  // namespace

void share(int64_t pieces, int64_t threads, void (*work)(const void* of, int64_t piece), const void* of) {
  if (pieces <= 1 || threads <= 1) {
    for (int64_t piece = 0; piece < pieces; ++piece) work(of, piece);
    return;
  }
  Job job{work, of, pieces, {0}, {0}, threads, std::min(pieces, threads) - 1, nullptr};
  helpers().share(job);
}

}  // namespace headrace
