#include "thalweg/source/plug_in/settings.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "thalweg/base/error.h"

namespace thalweg::source::plug_in {

thalweg_setting setting(char const* name, std::uint32_t kind, char const* fallback, char const* help) {
    return {THALWEG_SOURCE_VERSION, sizeof(thalweg_setting), name, kind, fallback == nullptr ? 1U : 0U, fallback, help};
}

thalweg_setting optional_setting(char const* name, std::uint32_t kind, char const* help) {
    return {THALWEG_SOURCE_VERSION, sizeof(thalweg_setting), name, kind, 0U, nullptr, help};
}

std::size_t choice(char const* name, char const* given, std::span<char const* const> known) {
    std::string all;
    for (std::size_t i = 0; i < known.size(); ++i) {
        if (std::string_view(given) == known[i]) return i;
        all += fmt::format("{}{}", i == 0 ? "" : ", ", known[i]);
    }
    base::fail_usage({fmt::format("setting '{}' is '{}'", name, given), fmt::format("there are {}", all)});
}

std::uint64_t whole(char const* name, std::int64_t given, std::int64_t most, std::int64_t least) {
    if (given < least || given > most)
        base::fail_usage({fmt::format("setting '{}' is {}", name, given), fmt::format("it is {} to {}", least, most)});
    return static_cast<std::uint64_t>(given);
}

} // namespace thalweg::source::plug_in
