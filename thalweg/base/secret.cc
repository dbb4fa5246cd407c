#include "thalweg/base/secret.h"

#include <cstddef>

namespace thalweg::base {

bool same_secret(std::string_view given, std::string_view secret) {
    unsigned difference = given.size() != secret.size();
    for (std::size_t i = 0; i < given.size(); ++i) {
        auto const expected = secret.empty() ? 0u : static_cast<unsigned char>(secret[i % secret.size()]);
        difference |= static_cast<unsigned char>(given[i]) ^ expected;
    }
    return difference == 0;
}

} // namespace thalweg::base
