// What the library says of itself.

#include "export.h"

// Goes up whenever a function that Python calls is added or changes its arguments; headrace/native/__init__.py has
// the same number.
HEADRACE_EXPORT int headrace_native_version() { return 13; }
