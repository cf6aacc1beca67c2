// What calls say that becomes of sums: optional operands behind the others, and a number that tells which there are.
#pragma once

#include <cstdint>
#include <limits>

#include "ffi/products.h"
#include "xla/ffi/api/ffi.h"

namespace headrace {

enum FinishBits : int64_t { kScaled = 1, kBiased = 2, kAdded = 4, kRelu = 8, kRelu6 = 16 };

// Reads the operands: factor, bias, what is added, as far as they are there.
inline xla::ffi::Error read_finish(int64_t bits, xla::ffi::RemainingArgs rest, int64_t columns, int64_t elements,
                                   const float* result, Finish& finish) {
  size_t next = 0;
  bool fits = true;
  const auto take = [&](int64_t bit, int64_t size) -> const float* {
    if ((bits & bit) == 0) return nullptr;
    auto found = rest.get<xla::ffi::AnyBuffer>(next++);
    fits &= found.has_value() && found->element_type() == xla::ffi::F32 &&
            static_cast<int64_t>(found->element_count()) == size;
    return fits ? found->typed_data<float>() : nullptr;
  };
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  finish.factor = take(kScaled, columns);
  finish.bias = take(kBiased, columns);
  finish.added = take(kAdded, elements);
  finish.result = result;
  finish.least = bits & (kRelu | kRelu6) ? 0.0f : -kInfinite;
  finish.most = bits & kRelu6 ? 6.0f : kInfinite;
  if (!fits || next != rest.size()) {
    return xla::ffi::Error::InvalidArgument("the operands that finish a product do not fit");
  }
  return xla::ffi::Error::Success();
}

}  // namespace headrace
