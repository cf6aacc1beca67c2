// Products of matrices with AVX2 and fused multiply-adds: tiles of 6 rows and 16 columns.

#include "ffi/products.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>
#include <utility>

#define HEADRACE_TARGET __attribute__((target("avx2,fma")))
#define HEADRACE_INLINE HEADRACE_TARGET __attribute__((always_inline)) inline

namespace headrace {
namespace {

using V = __m256;
constexpr const char* kName = "avx2";
constexpr int64_t kLanes = 8, kVectors = 2, kRows = 6;

HEADRACE_INLINE __m256i first(int64_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
HEADRACE_INLINE V load(const float* p) { return _mm256_loadu_ps(p); }
HEADRACE_INLINE V load_some(const float* p, int64_t count) { return _mm256_maskload_ps(p, first(count)); }
HEADRACE_INLINE void store(float* p, V v) { _mm256_storeu_ps(p, v); }
// Masked stores take many times as long on some CPUs.
HEADRACE_INLINE void store_some(float* p, V v, int64_t count) {
  __m128 rest = _mm256_castps256_ps128(v);
  if (count & 4) {
    _mm_storeu_ps(p, rest);
    rest = _mm256_extractf128_ps(v, 1);
    p += 4;
  }
  if (count & 2) {
    _mm_storel_pi(reinterpret_cast<__m64*>(p), rest);
    rest = _mm_movehl_ps(rest, rest);
    p += 2;
  }
  if (count & 1) _mm_store_ss(p, rest);
}
HEADRACE_INLINE V spread(const float* p) { return _mm256_broadcast_ss(p); }
HEADRACE_INLINE V multiply_add(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
// The greater, and the smaller, of a number and a bound; NaN stays.
HEADRACE_INLINE V at_least(V v, V bound) { return _mm256_max_ps(bound, v); }
HEADRACE_INLINE V at_most(V v, V bound) { return _mm256_min_ps(bound, v); }
HEADRACE_INLINE void prefetch(const float* p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0); }

// Writes the transpose of `high` rows of `wide` numbers, each at most 8; beyond `high` the columns are zero.
HEADRACE_TARGET void turn(const float* from, int64_t stride, int64_t high, int64_t wide, float* to, int64_t to_stride) {
  V r[8], t[8];
  const __m256i mask = first(wide);
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) r[i] = i < high ? _mm256_maskload_ps(from + i * stride, mask) : _mm256_setzero_ps();
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm256_permute2f128_ps(r[i], r[4 + i], 0x20);
    t[4 + i] = _mm256_permute2f128_ps(r[i], r[4 + i], 0x31);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    if (i < wide) _mm256_storeu_ps(to + i * to_stride, t[i]);
  }
}

#include "ffi/products_body.h"

}  // namespace

const ProductCode* const kProductsAvx2 = &kCode;

}  // namespace headrace

#else

namespace headrace {
const ProductCode* const kProductsAvx2 = nullptr;
}  // namespace headrace

#endif
