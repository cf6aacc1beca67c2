// Distinct numbers, and sums of rows that belong together.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "export.h"

namespace {

inline uint64_t mixed(uint64_t x) {
  x *= 0x9E3779B97F4A7C15u;
  return x ^ (x >> 32);
}

// Numbers the distinct keys in the order in which they first occur. Returns how many there are, -1 without memory.
template <typename Key, typename Place>
int64_t distinct(const Key* keys, int64_t n, int64_t* firsts, Place* places, Place* counts) {
  uint64_t room = 16;
  while (room < 2 * static_cast<uint64_t>(n)) room *= 2;
  // A slot holds 1 + the number of its key, 0 if it is free.
  const std::unique_ptr<int64_t[]> slots(new (std::nothrow) int64_t[room]());
  if (!slots) return -1;
  int64_t found = 0;
  for (int64_t i = 0; i < n; ++i) {
    uint64_t at = mixed(static_cast<uint64_t>(keys[i])) & (room - 1);
    while (slots[at] != 0 && keys[firsts[slots[at] - 1]] != keys[i]) at = (at + 1) & (room - 1);
    if (slots[at] == 0) {
      firsts[found] = i;
      counts[found] = 0;
      slots[at] = ++found;
    }
    const int64_t number = slots[at] - 1;
    places[i] = static_cast<Place>(number);
    ++counts[number];
  }
  return found;
}

template <typename Key>
int64_t distinct_of(const void* keys, int64_t n, int64_t* firsts, int64_t place_size, void* places, void* counts) {
  const auto* typed = static_cast<const Key*>(keys);
  if (place_size == 4) {
    return distinct(typed, n, firsts, static_cast<int32_t*>(places), static_cast<int32_t*>(counts));
  }
  return distinct(typed, n, firsts, static_cast<int64_t*>(places), static_cast<int64_t*>(counts));
}

// Some rows, which of them are meant, and where each is to be added.
struct Rows {
  int64_t rows;    // how many there are
  int64_t width;   // numbers in each
  int64_t count;   // how many sums there are
  int64_t n;       // how many rows are added
  const void* from;  // which; null for all
  int64_t from_size;
  const void* to;
  int64_t to_size;
};

// Adds row `from[i]` of `rows` (row i without `from`) to row `to[i]` of `out`, one after the other; those whose
// `to` is negative are left out. Returns the first place that is out of range, -1 if none is.
template <typename T, typename From, typename To>
int64_t add_rows(const Rows& of, const T* rows, const From* from, const To* to, T* out) {
  for (int64_t i = 0; i < of.n; ++i) {
    const int64_t source = from ? static_cast<int64_t>(from[i]) : i, target = to[i];
    if (source < 0 || source >= of.rows || target >= of.count) return i;
    if (target < 0) continue;
    const T* row = rows + of.width * source;
    T* sum = out + of.width * target;
    for (int64_t j = 0; j < of.width; ++j) sum[j] += row[j];
  }
  return -1;
}

template <typename T, typename From>
int64_t add_from(const Rows& of, const T* rows, const From* from, T* out) {
  return of.to_size == 4 ? add_rows(of, rows, from, static_cast<const int32_t*>(of.to), out)
                         : add_rows(of, rows, from, static_cast<const int64_t*>(of.to), out);
}

template <typename T>
int64_t add(const Rows& of, const T* rows, T* out) {
  return of.from_size == 4 ? add_from(of, rows, static_cast<const int32_t*>(of.from), out)
                           : add_from(of, rows, static_cast<const int64_t*>(of.from), out);
}

// Divides each of `count` rows by how many of the ids are its number, or by the root of that; by one where none is.
// Negative ids do not count. Returns -1 without memory.
template <typename T, typename Id>
int64_t divide_rows(T* rows, int64_t width, int64_t count, const Id* ids, int64_t n, bool root) {
  const std::unique_ptr<int64_t[]> times(new (std::nothrow) int64_t[count]());
  if (!times) return -1;
  for (int64_t i = 0; i < n; ++i) {
    if (ids[i] >= 0 && ids[i] < count) ++times[ids[i]];
  }
  for (int64_t i = 0; i < count; ++i) {
    if (times[i] <= 1) continue;
    T by = static_cast<T>(times[i]);
    if (root) by = std::sqrt(by);
    T* row = rows + width * i;
    for (int64_t j = 0; j < width; ++j) row[j] /= by;
  }
  return 0;
}

template <typename T>
int64_t divide(T* rows, int64_t width, int64_t count, const void* ids, int64_t id_size, int64_t n, bool root) {
  return id_size == 4 ? divide_rows(rows, width, count, static_cast<const int32_t*>(ids), n, root)
                      : divide_rows(rows, width, count, static_cast<const int64_t*>(ids), n, root);
}

// Copies rows of a table, each asked for some rows ahead: tables fit no cache. Returns the first place that names no
// row, -1 if none does; then nothing is copied.
template <typename Index>
int64_t take_rows(const char* table, int64_t rows, int64_t bytes, const Index* at, int64_t n, char* out) {
  constexpr int64_t kAhead = 16, kLine = 64, kMost = 8 * kLine;
  for (int64_t i = 0; i < n; ++i) {
    if (static_cast<uint64_t>(static_cast<int64_t>(at[i])) >= static_cast<uint64_t>(rows)) return i;
  }
  const auto ask_for = [&](int64_t i) {
    if (i >= n) return;
    const char* row = table + bytes * at[i];
    for (int64_t k = 0; k < bytes && k < kMost; k += kLine) __builtin_prefetch(row + k);
  };
  for (int64_t i = 0; i < kAhead; ++i) ask_for(i);
  for (int64_t i = 0; i < n; ++i) {
    ask_for(i + kAhead);
    const char* row = table + bytes * at[i];
    if (bytes == 4) {
      std::memcpy(out + 4 * i, row, 4);
    } else {
      std::memcpy(out + bytes * i, row, bytes);
    }
  }
  return -1;
}

}  // namespace

HEADRACE_EXPORT int64_t headrace_take_rows(const char* table, int64_t rows, int64_t bytes, const void* at,
                                           int64_t at_size, int64_t n, char* out) {
  return at_size == 4 ? take_rows(table, rows, bytes, static_cast<const int32_t*>(at), n, out)
                      : take_rows(table, rows, bytes, static_cast<const int64_t*>(at), n, out);
}

HEADRACE_EXPORT int64_t headrace_divide_rows_float(float* rows, int64_t width, int64_t count, const void* ids,
                                                   int64_t id_size, int64_t n, int64_t root) {
  return divide(rows, width, count, ids, id_size, n, root != 0);
}

HEADRACE_EXPORT int64_t headrace_divide_rows_double(double* rows, int64_t width, int64_t count, const void* ids,
                                                    int64_t id_size, int64_t n, int64_t root) {
  return divide(rows, width, count, ids, id_size, n, root != 0);
}

HEADRACE_EXPORT int64_t headrace_distinct(const void* keys, int64_t key_size, int64_t n, int64_t* firsts,
                                          int64_t place_size, void* places, void* counts) {
  switch (key_size) {
    case 1: return distinct_of<uint8_t>(keys, n, firsts, place_size, places, counts);
    case 2: return distinct_of<uint16_t>(keys, n, firsts, place_size, places, counts);
    case 4: return distinct_of<uint32_t>(keys, n, firsts, place_size, places, counts);
    default: return distinct_of<uint64_t>(keys, n, firsts, place_size, places, counts);
  }
}

HEADRACE_EXPORT int64_t headrace_add_rows_float(const float* data, int64_t rows, int64_t width, int64_t count,
                                                int64_t n, const void* from, int64_t from_size, const void* to,
                                                int64_t to_size, float* out) {
  return add({rows, width, count, n, from, from_size, to, to_size}, data, out);
}

HEADRACE_EXPORT int64_t headrace_add_rows_double(const double* data, int64_t rows, int64_t width, int64_t count,
                                                 int64_t n, const void* from, int64_t from_size, const void* to,
                                                 int64_t to_size, double* out) {
  return add({rows, width, count, n, from, from_size, to, to_size}, data, out);
}
