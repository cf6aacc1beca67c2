// Products of matrices on any CPU: tiles of 6 rows and 8 columns.

#include <cstdint>
#include <cstring>
#include <utility>

#include "ffi/products.h"

#define HEADRACE_TARGET
#define HEADRACE_INLINE __attribute__((always_inline)) inline

namespace headrace {
namespace {

typedef float V __attribute__((vector_size(16)));
constexpr const char* kName = "plain";
constexpr int64_t kLanes = 4, kVectors = 2, kRows = 6;

HEADRACE_INLINE V load_some(const float* p, int64_t count) {
  V v{};
  std::memcpy(&v, p, sizeof(float) * count);
  return v;
}
HEADRACE_INLINE void store_some(float* p, V v, int64_t count) { std::memcpy(p, &v, sizeof(float) * count); }
HEADRACE_INLINE V load(const float* p) { return load_some(p, kLanes); }
HEADRACE_INLINE void store(float* p, V v) { store_some(p, v, kLanes); }
HEADRACE_INLINE V spread(const float* p) { return V{} + *p; }
HEADRACE_INLINE V multiply_add(V a, V b, V c) { return a * b + c; }
// The greater, and the smaller, of a number and a bound; NaN stays.
HEADRACE_INLINE V at_least(V v, V bound) { return v < bound ? bound : v; }
HEADRACE_INLINE V at_most(V v, V bound) { return v > bound ? bound : v; }
HEADRACE_INLINE void prefetch(const float* p) { __builtin_prefetch(p); }

// Writes the transpose of `high` rows of `wide` numbers, each at most 4; beyond `high` the columns are zero.
inline void turn(const float* from, int64_t stride, int64_t high, int64_t wide, float* to, int64_t to_stride) {
  for (int64_t i = 0; i < wide; ++i) {
    for (int64_t j = 0; j < kLanes; ++j) to[i * to_stride + j] = j < high ? from[j * stride + i] : 0.0f;
  }
}

#include "ffi/products_body.h"

}  // namespace

const ProductCode* const kProductsPlain = &kCode;

}  // namespace headrace
