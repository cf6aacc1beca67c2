// Products of matrices with AVX-512: tiles of 14 rows and 32 columns.

#include "ffi/products.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>
#include <utility>

#define HEADRACE_TARGET __attribute__((target("avx512f")))
#define HEADRACE_INLINE HEADRACE_TARGET __attribute__((always_inline)) inline

namespace headrace {
namespace {

using V = __m512;
constexpr const char* kName = "avx512";
constexpr int64_t kLanes = 16, kVectors = 2, kRows = 14;

HEADRACE_INLINE V load(const float* p) { return _mm512_loadu_ps(p); }
HEADRACE_INLINE __mmask16 first(int64_t count) { return static_cast<__mmask16>((1u << count) - 1); }
HEADRACE_INLINE V load_some(const float* p, int64_t count) { return _mm512_maskz_loadu_ps(first(count), p); }
HEADRACE_INLINE void store(float* p, V v) { _mm512_storeu_ps(p, v); }
HEADRACE_INLINE void store_some(float* p, V v, int64_t count) { _mm512_mask_storeu_ps(p, first(count), v); }
HEADRACE_INLINE V spread(const float* p) { return _mm512_set1_ps(*p); }
HEADRACE_INLINE V multiply_add(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
// The greater, and the smaller, of a number and a bound; NaN stays.
HEADRACE_INLINE V at_least(V v, V bound) { return _mm512_max_ps(bound, v); }
HEADRACE_INLINE V at_most(V v, V bound) { return _mm512_min_ps(bound, v); }
HEADRACE_INLINE void prefetch(const float* p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0); }

// Writes the transpose of `high` rows of `wide` numbers, each at most 16; beyond `high` the columns are zero.
HEADRACE_TARGET void turn(const float* from, int64_t stride, int64_t high, int64_t wide, float* to, int64_t to_stride) {
  V r[16], t[16];
  const __mmask16 mask = first(wide);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) r[i] = i < high ? _mm512_maskz_loadu_ps(mask, from + i * stride) : _mm512_setzero_ps();
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    const __m512d a = _mm512_castps_pd(t[i]), b = _mm512_castps_pd(t[i + 1]);
    const __m512d c = _mm512_castps_pd(t[i + 2]), d = _mm512_castps_pd(t[i + 3]);
    r[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
    r[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
    r[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
    r[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
  }
  // r[4 * g + j] has column j + 4 * q of rows 4 * g to 4 * g + 3 in its quarter q.
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    t[j] = _mm512_shuffle_f32x4(r[j], r[4 + j], 0x88);
    t[4 + j] = _mm512_shuffle_f32x4(r[j], r[4 + j], 0xdd);
    t[8 + j] = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0x88);
    t[12 + j] = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0xdd);
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    r[j] = _mm512_shuffle_f32x4(t[j], t[8 + j], 0x88);
    r[8 + j] = _mm512_shuffle_f32x4(t[j], t[8 + j], 0xdd);
    r[4 + j] = _mm512_shuffle_f32x4(t[4 + j], t[12 + j], 0x88);
    r[12 + j] = _mm512_shuffle_f32x4(t[4 + j], t[12 + j], 0xdd);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    if (i < wide) _mm512_storeu_ps(to + i * to_stride, r[i]);
  }
}

#include "ffi/products_body.h"

}  // namespace

const ProductCode* const kProductsAvx512 = &kCode;

}  // namespace headrace

#else

namespace headrace {
const ProductCode* const kProductsAvx512 = nullptr;
}  // namespace headrace

#endif
