#include "thalweg/base/random.h"

#include <random>

#include "thalweg/base/stand_in.h"

namespace thalweg::base {

std::uint64_t random_word() {
    if (stand_in != nullptr) return stand_in->random_word();
    std::random_device device;
    return static_cast<std::uint64_t>(device()) << 32 | device();
}

} // namespace thalweg::base
