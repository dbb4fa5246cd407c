#include "thalweg/base/random.h"

#include <random>

namespace thalweg::base {

std::uint64_t random_word() {
    std::random_device device;
    return static_cast<std::uint64_t>(device()) << 32 | device();
}

} // namespace thalweg::base
