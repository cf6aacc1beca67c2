// Philox 4x32-10 streams and the numbers made from them, bit for bit those of headrace/ops/random/distributions.py.

#include <cmath>
#include <cstdint>
#include <cstring>

#include "export.h"
#include "parallel.h"
#include "philox.h"

namespace {

using headrace::blocks;
using headrace::for_each_piece;
using headrace::kTogether;
using headrace::Stream;
using headrace::stream_of;

constexpr int64_t kPiece = 16384;         // blocks that one thread makes before it asks for more
constexpr uint64_t kTruncatedStride = 256;  // blocks between the starts of two groups of truncated normals
constexpr float kTruncatedAt = 2.0f;

void one_block(const Stream& stream, uint64_t offset, uint32_t* word) {
  const uint64_t low = stream.low + offset;
  const uint64_t high = stream.high + (low < stream.low);
  uint32_t a = static_cast<uint32_t>(low), b = static_cast<uint32_t>(low >> 32);
  uint32_t c = static_cast<uint32_t>(high), d = static_cast<uint32_t>(high >> 32);
  uint32_t k0 = stream.key[0], k1 = stream.key[1];
  for (int round = 0; round < 10; ++round) {
    const uint64_t p = static_cast<uint64_t>(a) * 0xD2511F53u;
    const uint64_t q = static_cast<uint64_t>(c) * 0xCD9E8D57u;
    a = static_cast<uint32_t>(q >> 32) ^ b ^ k0;
    b = static_cast<uint32_t>(q);
    c = static_cast<uint32_t>(p >> 32) ^ d ^ k1;
    d = static_cast<uint32_t>(p);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  word[0] = a, word[1] = b, word[2] = c, word[3] = d;
}

// Two normal numbers from two words (Box and Muller). The logarithm is that of a double, rounded, the circle
// constant a double in the product: that is how NumPy is asked for them.
inline void normal_pair(uint32_t first, uint32_t second, float* out) {
  float u = static_cast<float>(first & 0x7FFFFFu) * 0x1p-23f;
  if (!(u >= 1.0e-7f)) u = 1.0e-7f;
  const float angle = static_cast<float>(
      static_cast<double>(static_cast<float>(second & 0x7FFFFFu) * 0x1p-23f) * 6.283185307179586);
  const float radius = std::sqrt(-2.0f * static_cast<float>(std::log(static_cast<double>(u))));
  float sine, cosine;
  sincosf(angle, &sine, &cosine);
  out[0] = sine * radius;
  out[1] = cosine * radius;
}

// Calls `make(words, i, at)` for block i of the `blocks_total`, where words[.][at] is its content.
template <typename Make>
void for_each_block(const Stream& stream, int64_t total, uint64_t stride, int64_t threads, const Make& make) {
  for_each_piece((total + kPiece - 1) / kPiece, threads, [&](int64_t piece) {
    uint32_t words[4][kTogether];
    const int64_t end = total < (piece + 1) * kPiece ? total : (piece + 1) * kPiece;
    for (int64_t i = piece * kPiece; i < end; i += kTogether) {
      blocks(&stream, static_cast<uint64_t>(i) * stride, stride, words);
      const int64_t here = end - i < kTogether ? end - i : kTogether;
      for (int64_t at = 0; at < here; ++at) make(words, i + at, at);
    }
  });
}

// Copies a group of four to its place; the last group may be cut short.
inline void put(float* out, int64_t count, int64_t group, const float* four) {
  const int64_t left = count - 4 * group;
  std::memcpy(out + 4 * group, four, sizeof(float) * (left < 4 ? left : 4));
}

}  // namespace

HEADRACE_EXPORT void headrace_philox_blocks(const uint32_t* key, const uint32_t* counter, int64_t count,
                                            uint64_t stride, int64_t threads, uint32_t* out) {
  for_each_block(stream_of(key, counter), count, stride, threads,
                 [=](const uint32_t(*words)[kTogether], int64_t i, int64_t at) {
                   for (int w = 0; w < 4; ++w) out[4 * i + w] = words[w][at];
                 });
}

HEADRACE_EXPORT void headrace_uniform(const uint32_t* key, const uint32_t* counter, int64_t count, int64_t bits,
                                      int64_t threads, float* out) {
  const uint32_t mask = (1u << bits) - 1;
  const float scale = std::ldexp(1.0f, static_cast<int>(-bits));
  for_each_block(stream_of(key, counter), (count + 3) / 4, 1, threads,
                 [=](const uint32_t(*words)[kTogether], int64_t i, int64_t at) {
                   float four[4];
                   for (int w = 0; w < 4; ++w) four[w] = static_cast<float>(words[w][at] & mask) * scale;
                   put(out, count, i, four);
                 });
}

HEADRACE_EXPORT void headrace_uniform_double(const uint32_t* key, const uint32_t* counter, int64_t count,
                                             int64_t threads, double* out) {
  for_each_block(stream_of(key, counter), (count + 1) / 2, 1, threads,
                 [=](const uint32_t(*words)[kTogether], int64_t i, int64_t at) {
                   for (int half = 0; half < 2 && 2 * i + half < count; ++half) {
                     const uint64_t upper = words[2 * half][at] & 0xFFFFFu;
                     out[2 * i + half] = static_cast<double>(upper << 32 | words[2 * half + 1][at]) * 0x1p-52;
                   }
                 });
}

HEADRACE_EXPORT void headrace_normal(const uint32_t* key, const uint32_t* counter, int64_t count, int64_t threads,
                                     float* out) {
  for_each_block(stream_of(key, counter), (count + 3) / 4, 1, threads,
                 [=](const uint32_t(*words)[kTogether], int64_t i, int64_t at) {
                   float four[4];
                   normal_pair(words[0][at], words[1][at], four);
                   normal_pair(words[2][at], words[3][at], four + 2);
                   put(out, count, i, four);
                 });
}

// Each group of four owns a run of blocks, from which it takes numbers until it has four below the bound.
HEADRACE_EXPORT void headrace_truncated_normal(const uint32_t* key, const uint32_t* counter, int64_t count,
                                               int64_t threads, float* out) {
  const Stream stream = stream_of(key, counter);
  for_each_block(stream, (count + 3) / 4, kTruncatedStride, threads,
                 [=, &stream](const uint32_t(*words)[kTogether], int64_t i, int64_t at) {
                   uint32_t word[4] = {words[0][at], words[1][at], words[2][at], words[3][at]};
                   float four[4];
                   int filled = 0;
                   for (uint64_t tries = 1;; ++tries) {
                     float drawn[4];
                     normal_pair(word[0], word[1], drawn);
                     normal_pair(word[2], word[3], drawn + 2);
                     for (int w = 0; w < 4 && filled < 4; ++w) {
                       if (std::fabs(drawn[w]) < kTruncatedAt) four[filled++] = drawn[w];
                     }
                     if (filled == 4) break;
                     one_block(stream, static_cast<uint64_t>(i) * kTruncatedStride + tries, word);
                   }
                   put(out, count, i, four);
                 });
}
