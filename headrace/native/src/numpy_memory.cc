// Memory for NumPy's arrays, large ones at multiples of 64 bytes: there XLA takes them as they are.

#include <cstdint>
#include <cstdlib>

#include "export.h"

namespace {

constexpr size_t kLarge = size_t{64} << 10;  // what is smaller is copied in no time
constexpr size_t kAlignment = 64;
constexpr size_t kNote = 16;  // bytes before an array, which say how far malloc's own begin before it

// Bytes to ask malloc for besides an array's. (An aligned block cut out of a larger one, as posix_memalign does it,
// leaves a hole that is too small for the next one of its size.)
size_t besides(size_t bytes) { return bytes < kLarge ? kNote : kNote + kAlignment; }

void* placed(char* start, size_t bytes) {
  if (start == nullptr) return nullptr;
  char* at = start + kNote;
  if (bytes >= kLarge) at += -reinterpret_cast<uintptr_t>(at) % kAlignment;
  *reinterpret_cast<size_t*>(at - sizeof(size_t)) = at - start;
  return at;
}

size_t shift(void* array) { return *reinterpret_cast<size_t*>(static_cast<char*>(array) - sizeof(size_t)); }

char* start_of(void* array) { return static_cast<char*>(array) - shift(array); }

void* make(void*, size_t bytes) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  return placed(static_cast<char*>(std::malloc(bytes + besides(bytes))), bytes);
}

// Where they are the kernel's, zeros are not written again.
void* make_zeros(void*, size_t count, size_t each) {
  size_t bytes;
  if (__builtin_mul_overflow(count, each, &bytes) || bytes > SIZE_MAX / 2) return nullptr;
  return placed(static_cast<char*>(std::calloc(bytes + besides(bytes), 1)), bytes);
}

void* resize(void*, void* array, size_t bytes) {
  if (array == nullptr) return make(nullptr, bytes);
  if (bytes > SIZE_MAX / 2) return nullptr;
  const size_t kept = shift(array);  // what was aligned need not be any more
  char* start = static_cast<char*>(std::realloc(start_of(array), bytes + kept));
  return start == nullptr ? nullptr : start + kept;
}

void let_go(void*, void* array, size_t) {
  if (array != nullptr) std::free(start_of(array));
}

// What NumPy's documentation calls PyDataMem_Handler.
struct Handler {
  char name[127];
  uint8_t version;
  struct {
    void* context;
    void* (*malloc)(void*, size_t);
    void* (*calloc)(void*, size_t, size_t);
    void* (*realloc)(void*, void*, size_t);
    void (*free)(void*, void*, size_t);
  } allocator;
};

Handler handler = {"headrace", 1, {nullptr, make, make_zeros, resize, let_go}};

}  // namespace

HEADRACE_EXPORT void* headrace_numpy_memory() { return &handler; }
