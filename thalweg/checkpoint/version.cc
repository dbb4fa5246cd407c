#include "thalweg/checkpoint/version.h"

#include <fmt/format.h>

namespace thalweg::checkpoint {

void check_version(std::string const& problem, int version, int known) {
    if (version == known) return;
    auto const why = fmt::format("its version is {}, this Thalweg reads {}", version, known);
    throw UnknownVersion(base::Message{problem, why, "take a newer Thalweg"}.str());
}

} // namespace thalweg::checkpoint
