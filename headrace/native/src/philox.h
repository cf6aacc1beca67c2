// Blocks of Philox 4x32-10 streams, many side by side.
#pragma once

#include <cstdint>
#include <cstring>

#include "export.h"

namespace headrace {

constexpr int kTogether = 64;  // blocks that are made at a time, side by side

struct Stream {
  uint32_t key[2];
  uint64_t low, high;  // the halves of the counter
};

inline Stream stream_of(const uint32_t* key, const uint32_t* counter) {
  return {{key[0], key[1]},
          counter[0] | static_cast<uint64_t>(counter[1]) << 32,
          counter[2] | static_cast<uint64_t>(counter[3]) << 32};
}

// Makes the blocks that lie `first + i * stride` after the start, as four rows of words.
HEADRACE_CLONES
static void blocks(const Stream* stream, uint64_t first, uint64_t stride, uint32_t (*words)[kTogether]) {
  uint32_t a[kTogether], b[kTogether], c[kTogether], d[kTogether];
  for (int i = 0; i < kTogether; ++i) {
    const uint64_t low = stream->low + first + stride * i;
    const uint64_t high = stream->high + (low < stream->low);
    a[i] = static_cast<uint32_t>(low);
    b[i] = static_cast<uint32_t>(low >> 32);
    c[i] = static_cast<uint32_t>(high);
    d[i] = static_cast<uint32_t>(high >> 32);
  }
  uint32_t k0 = stream->key[0], k1 = stream->key[1];
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kTogether; ++i) {
      const uint64_t p = static_cast<uint64_t>(a[i]) * 0xD2511F53u;
      const uint64_t q = static_cast<uint64_t>(c[i]) * 0xCD9E8D57u;
      a[i] = static_cast<uint32_t>(q >> 32) ^ b[i] ^ k0;
      b[i] = static_cast<uint32_t>(q);
      c[i] = static_cast<uint32_t>(p >> 32) ^ d[i] ^ k1;
      d[i] = static_cast<uint32_t>(p);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  std::memcpy(words[0], a, sizeof a);
  std::memcpy(words[1], b, sizeof b);
  std::memcpy(words[2], c, sizeof c);
  std::memcpy(words[3], d, sizeof d);
}

}  // namespace headrace
