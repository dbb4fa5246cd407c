#include "thalweg/base/assert.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace thalweg::base {

void fail_assertion(char const* condition, char const* text, char const* file, int line) noexcept {
    // It begins with the last folder of that name: the place of the build does not belong into an error.
    for (auto const* part = file; part != nullptr; part = std::strstr(part + 1, "thalweg/")) file = part;
    std::fprintf(
        stderr,
        "thalweg: %s (%s:%d, %s): this is a fault in Thalweg, please report it; `thalweg recover` completes the "
        "file of a run that it has ended\n",
        text, file, line, condition);
    std::abort();
}

} // namespace thalweg::base
