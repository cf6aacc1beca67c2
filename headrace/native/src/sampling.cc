// Candidate classes drawn log-uniformly, as in headrace/ops/random/candidates.py.

#include <cmath>
#include <cstdint>
#include <memory>
#include <new>

#include "export.h"
#include "philox.h"

namespace {

// The numbers in [0, 1) that pairs of words of a stream stand for, one after another.
class Doubles {
 public:
  explicit Doubles(const headrace::Stream& stream) : stream_(stream) {}

  double next() {
    if (at_ == 2 * headrace::kTogether) {
      headrace::blocks(&stream_, made_, 1, words_);
      made_ += headrace::kTogether;
      at_ = 0;
    }
    const int block = at_ / 2, first = at_ % 2 * 2;
    ++at_;
    const uint64_t upper = words_[first][block] & 0xFFFFFu;
    return static_cast<double>(upper << 32 | words_[first + 1][block]) * 0x1p-52;
  }

 private:
  headrace::Stream stream_;
  uint64_t made_ = 0;
  int at_ = 2 * headrace::kTogether;
  uint32_t words_[4][headrace::kTogether];
};

}  // namespace

// Draws classes below `range` until there are `count`, all different if `unique`. Returns how many draws that took, -1
// without memory.
HEADRACE_EXPORT int64_t headrace_log_uniform(const uint32_t* key, const uint32_t* counter, int64_t range,
                                             double log_range, int64_t count, int64_t unique, int64_t* classes) {
  uint64_t room = 16;
  while (room < 2 * static_cast<uint64_t>(count)) room *= 2;
  const std::unique_ptr<int64_t[]> slots(new (std::nothrow) int64_t[room]());
  if (!slots) return -1;
  Doubles doubles(headrace::stream_of(key, counter));
  int64_t tries = 0;
  for (int64_t found = 0; found < count;) {
    ++tries;
    // Rounding can lead to `range` itself.
    const int64_t drawn = (static_cast<int64_t>(std::exp(doubles.next() * log_range)) - 1) % range;
    if (unique) {
      uint64_t at = static_cast<uint64_t>(drawn) * 0x9E3779B97F4A7C15u >> 20 & (room - 1);
      while (slots[at] != 0 && slots[at] != drawn + 1) at = (at + 1) & (room - 1);
      if (slots[at] != 0) continue;
      slots[at] = drawn + 1;
    }
    classes[found++] = drawn;
  }
  return tries;
}

// Writes how many of `count` classes drawn in `tries` draws were to be expected to be each of `n` classes.
HEADRACE_EXPORT void headrace_log_uniform_expected(const int64_t* classes, int64_t n, double log_range, int64_t count,
                                                   int64_t tries, float* expected) {
  for (int64_t i = 0; i < n; ++i) {
    const double c = static_cast<double>(classes[i]);
    const float p = static_cast<float>(std::log((c + 2.0) / (c + 1.0)) / log_range);
    if (tries == count) {
      expected[i] = p * static_cast<float>(count);
      continue;
    }
    const float missed = static_cast<float>(tries) * static_cast<float>(std::log1p(-static_cast<double>(p)));
    expected[i] = -static_cast<float>(std::expm1(static_cast<double>(missed)));
  }
}
