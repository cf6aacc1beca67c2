// The k greatest elements of each row, greatest first; of equal ones the first comes first.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "export.h"
#include "parallel.h"

namespace {

// Integers in the order of the numbers: both zeros are equal, and NaN exceeds everything, as NumPy sorts.
inline int32_t key_of(float x) {
  if (x != x) return INT32_MAX;
  if (x == 0) return 0;
  int32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits ^ ((bits >> 31) & INT32_MAX);
}
inline int64_t key_of(double x) {
  if (x != x) return INT64_MAX;
  if (x == 0) return 0;
  int64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits ^ ((bits >> 63) & INT64_MAX);
}
inline int32_t key_of(int32_t x) { return x; }
inline int64_t key_of(int64_t x) { return x; }

template <typename Key>
struct Entry {
  Key key;
  int32_t place;
  // Whether this one comes first.
  bool operator<(const Entry& other) const {
    return key != other.key ? key > other.key : place < other.place;
  }
};

template <typename T>
void of_row(const T* row, int64_t n, int64_t k, T* values, int32_t* places) {
  using Key = decltype(key_of(T{}));
  std::vector<Entry<Key>> heap;  // the k that come first so far, the last of them on top
  heap.reserve(k);
  for (int64_t i = 0; i < k; ++i) heap.push_back({key_of(row[i]), static_cast<int32_t>(i)});
  std::make_heap(heap.begin(), heap.end());
  for (int64_t i = k; i < n; ++i) {
    const Key key = key_of(row[i]);
    if (key <= heap.front().key) continue;  // an equal one further on comes later
    std::pop_heap(heap.begin(), heap.end());
    heap.back() = {key, static_cast<int32_t>(i)};
    std::push_heap(heap.begin(), heap.end());
  }
  std::sort_heap(heap.begin(), heap.end());
  for (int64_t i = 0; i < k; ++i) {
    values[i] = row[heap[i].place];
    places[i] = heap[i].place;
  }
}

template <typename T>
int64_t of_rows(const void* data, int64_t rows, int64_t n, int64_t k, int64_t threads, void* values, int32_t* places) {
  std::atomic<bool> failed{false};
  headrace::for_each_piece(rows, threads, [&](int64_t row) {
    try {
      of_row(static_cast<const T*>(data) + row * n, n, k, static_cast<T*>(values) + row * k, places + row * k);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
  });
  return failed ? -1 : 0;
}

}  // namespace

// `kind` is 'f' for floats and 'i' for integers, `size` their bytes; 0 < k <= n. Returns -1 without memory.
HEADRACE_EXPORT int64_t headrace_top_k(const void* data, int64_t kind, int64_t size, int64_t rows, int64_t n, int64_t k,
                                       int64_t threads, void* values, int32_t* places) {
  if (kind == 'f') {
    return size == 4 ? of_rows<float>(data, rows, n, k, threads, values, places)
                     : of_rows<double>(data, rows, n, k, threads, values, places);
  }
  return size == 4 ? of_rows<int32_t>(data, rows, n, k, threads, values, places)
                   : of_rows<int64_t>(data, rows, n, k, threads, values, places);
}
