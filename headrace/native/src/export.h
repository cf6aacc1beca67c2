// What every source file of the library shares.
#pragma once

#include <cstdint>

// Functions that Python calls by name through ctypes.
#define HEADRACE_EXPORT extern "C" __attribute__((visibility("default")))

// The same code compiled for several kinds of CPU; which is used is decided when the library is loaded. Results are
// the same: nothing is compiled with fused multiply-adds or reassociated sums.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(HEADRACE_NO_CLONES)
#define HEADRACE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define HEADRACE_CLONES
#endif
