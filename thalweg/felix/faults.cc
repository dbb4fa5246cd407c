#include "thalweg/felix/faults.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <string>
#include <utility>

#include "thalweg/base/error.h"

namespace thalweg::felix {
namespace {

constexpr std::array<std::pair<std::string_view, double FaultOptions::*>, 13> kFaults{{
    {"missing", &FaultOptions::missing},
    {"late", &FaultOptions::late},
    {"duplicated", &FaultOptions::duplicated},
    {"swapped", &FaultOptions::swapped},
    {"truncated", &FaultOptions::truncated},
    {"crc", &FaultOptions::crc},
    {"error", &FaultOptions::error},
    {"busy", &FaultOptions::busy},
    {"lost_block", &FaultOptions::lost_block},
    {"lost_lap", &FaultOptions::lost_lap},
    {"garbage_block", &FaultOptions::garbage_block},
    {"dead_link", &FaultOptions::dead_link},
    {"stuck_pointer", &FaultOptions::stuck_pointer},
}};

double parse_probability(std::string_view text, std::string_view part) {
    double probability = -1;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), probability);
    bool const is_number = error == std::errc{} && end == text.data() + text.size();
    if (is_number && probability >= 0 && probability <= 1) return probability;
    base::fail_usage(
        {fmt::format("'{}' asks for no fault", part), "a probability lies between 0 and 1", "write it like crc=1e-4"});
}

void set(FaultOptions& options, std::string_view part) {
    auto const name = part.substr(0, part.find('='));
    auto const probability =
        parse_probability(name.size() < part.size() ? part.substr(name.size() + 1) : std::string_view(), part);
    bool is_known = false;
    for (auto const& [known, member] : kFaults) {
        if (name != known && name != "all") continue;
        options.*member = probability;
        is_known = true;
    }
    if (is_known) return;
    std::string names = "all";
    for (auto const& [known, member] : kFaults) names.append(", ").append(known);
    base::fail_usage({fmt::format("there is no fault '{}'", name), "", "choose from " + names});
}

} // namespace

bool FaultOptions::any() const {
    for (auto const& [name, member] : kFaults) {
        if (this->*member > 0) return true;
    }
    return false;
}

FaultOptions parse_faults(std::string_view text) {
    FaultOptions options;
    while (!text.empty()) {
        auto const part = text.substr(0, text.find(','));
        set(options, part);
        text.remove_prefix(std::min(part.size() + 1, text.size()));
    }
    return options;
}

} // namespace thalweg::felix
