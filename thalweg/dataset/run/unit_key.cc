#include "thalweg/dataset/run/unit_key.h"

#include "thalweg/base/checksum.h"

namespace thalweg::dataset {

std::uint64_t UnitKey::hash() const {
    if (!is_integer) return base::xxh3(std::as_bytes(std::span(text)));
    return base::xxh3(std::as_bytes(std::span(&integer, 1)));
}

std::string UnitKey::str() const { return is_integer ? std::to_string(integer) : "'" + text + "'"; }

} // namespace thalweg::dataset
