// Rows of a table for compiled programs.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "pool.h"
#include "xla/ffi/api/ffi.h"

namespace {

namespace ffi = xla::ffi;

constexpr int64_t kPiece = 1 << 18;  // bytes that one thread copies before it asks for more

template <typename Index>
void gather(ffi::ThreadPool pool, const char* table, int64_t rows, int64_t bytes, const Index* indices, int64_t n,
            char* out) {
  const int64_t together = std::max<int64_t>(1, kPiece / bytes);
  headrace::for_each_piece(pool, (n + together - 1) / together, [&](int64_t piece) {
    const int64_t end = std::min(n, (piece + 1) * together);
    for (int64_t i = piece * together; i < end; ++i) {
      // Indices out of range are those of the nearest row, as in XLA's own gathers.
      const int64_t row = std::clamp<int64_t>(indices[i], 0, rows - 1);
      std::memcpy(out + i * bytes, table + row * bytes, bytes);
    }
  });
}

// table is [rows, width], indices [n], the result [n, width].
ffi::Error gather_rows(ffi::ThreadPool pool, ffi::AnyBuffer table, ffi::AnyBuffer indices,
                       ffi::Result<ffi::AnyBuffer> out) {
  const auto from = table.dimensions(), to = out->dimensions(), at = indices.dimensions();
  if (from.size() != 2 || to.size() != 2 || at.size() != 1 || from[1] != to[1] || at[0] != to[0] ||
      table.element_type() != out->element_type()) {
    return ffi::Error::InvalidArgument("the shapes of rows do not fit");
  }
  const int64_t bytes = from[1] * static_cast<int64_t>(ffi::ByteWidth(table.element_type()));
  if (at[0] == 0 || bytes == 0) return ffi::Error::Success();
  if (from[0] == 0) return ffi::Error::InvalidArgument("there are no rows");
  const char* data = static_cast<const char*>(table.untyped_data());
  char* result = static_cast<char*>(out->untyped_data());
  switch (indices.element_type()) {
    case ffi::S32: gather(pool, data, from[0], bytes, indices.typed_data<int32_t>(), at[0], result); break;
    case ffi::S64: gather(pool, data, from[0], bytes, indices.typed_data<int64_t>(), at[0], result); break;
    default: return ffi::Error::InvalidArgument("indices are integers of 32 or 64 bits");
  }
  return ffi::Error::Success();
}

}  // namespace

#pragma GCC visibility push(default)

XLA_FFI_DEFINE_HANDLER_SYMBOL(headrace_gather_rows, gather_rows,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::AnyBuffer>()
                                  .Arg<ffi::AnyBuffer>()
                                  .Ret<ffi::AnyBuffer>());

#pragma GCC visibility pop
