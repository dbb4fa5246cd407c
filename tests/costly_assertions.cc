// Linked into every test binary: tests check the costly assertions, too.
#include "thalweg/base/assert.h"

namespace {
[[maybe_unused]] bool const before_main = thalweg::base::costly_assertions.exchange(true);
} // namespace
