#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <optional>

#include "thalweg/base/error.h"
#include "thalweg/machine/pinning.h"

namespace thalweg::machine {
namespace {

constexpr std::uint32_t kMostOfRange = 8192; // no machine has more processors; a typing error may ask for more

using ByRole = std::map<std::string, std::vector<std::uint32_t>, std::less<>>;

[[noreturn]] void fail_pinning(std::string const& application, std::string const& text, std::string why) {
    base::fail_usage({"cannot pin " + application + " as \"" + text + "\"", std::move(why),
                      "write roles with their processors, such as build=0-2,serve=3,4"});
}

std::optional<std::uint32_t> parse_processor(std::string_view text) {
    std::uint32_t number = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

// Adds "3" or "0-2" to `processors`. Returns false if the text is neither.
bool add_range(std::string_view text, std::vector<std::uint32_t>& processors) {
    auto const dash = text.find('-');
    auto const first = parse_processor(text.substr(0, dash));
    auto const last = dash == std::string_view::npos ? first : parse_processor(text.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= kMostOfRange) return false;
    // *last may be the largest number.
    for (std::uint32_t i = 0; i <= *last - *first; ++i) processors.push_back(*first + i);
    return true;
}

std::vector<std::string_view> split_at_commas(std::string_view text) {
    std::vector<std::string_view> parts;
    for (auto comma = text.find(','); comma != std::string_view::npos; comma = text.find(',')) {
        parts.push_back(text.substr(0, comma));
        text.remove_prefix(comma + 1);
    }
    parts.push_back(text);
    return parts;
}

ByRole parse_roles(std::string const& application, std::string const& text) {
    ByRole roles;
    auto role = roles.end();
    for (auto part : split_at_commas(text)) {
        if (auto const equals = part.find('='); equals != std::string_view::npos) {
            auto const [place, is_new] = roles.try_emplace(std::string(part.substr(0, equals)));
            if (!is_new) fail_pinning(application, text, "\"" + place->first + "\" comes twice");
            role = place;
            part.remove_prefix(equals + 1);
        }
        if (role == roles.end()) fail_pinning(application, text, "it does not begin with a role");
        if (!add_range(part, role->second)) {
            fail_pinning(application, text, "\"" + std::string(part) + "\" is neither a processor nor a range of them");
        }
    }
    return roles;
}

std::vector<std::uint32_t> all_processors(Topology const& topology) {
    std::vector<std::uint32_t> all;
    for (auto const& chiplet : topology.chiplets) {
        for (auto const& core : chiplet.cores) all.insert(all.end(), core.begin(), core.end());
    }
    return all;
}

void check(std::string const& text, ByRole const& roles, Demand const& demand, Topology const& topology) {
    for (auto const& [name, processors] : roles) {
        if (std::ranges::find(demand.roles, name, &Demand::ThreadRole::name) == demand.roles.end()) {
            std::string known;
            for (auto const& role : demand.roles) known += (known.empty() ? "" : ", ") + role.name;
            fail_pinning(demand.application, text, fmt::format("it has no threads called \"{}\", but {}", name, known));
        }
        for (auto const processor : processors) {
            if (topology.chiplet_of(processor)) continue;
            fail_pinning(demand.application, text,
                         fmt::format("{} has no processor {} for this process, but {}", topology.source, processor,
                                     processors_text(all_processors(topology))));
        }
    }
}

} // namespace

std::vector<Placement> parse_pinning(std::string const& text, Demand const& demand, Topology const& topology) {
    auto const roles = parse_roles(demand.application, text);
    check(text, roles, demand, topology);
    std::vector<Placement> placements;
    for (auto const& role : demand.roles) {
        auto const found = roles.find(role.name);
        auto const processors = found == roles.end() ? std::vector<std::uint32_t>{} : found->second;
        bool const one_each = processors.size() == role.threads;
        for (std::uint32_t thread = 0; thread < role.threads; ++thread) {
            Placement placement{demand.application, role.name, thread, 0, processors};
            if (one_each) placement.processors = {processors[thread]};
            if (!processors.empty()) placement.chiplet = *topology.chiplet_of(placement.processors[0]);
            placements.push_back(std::move(placement));
        }
    }
    return placements;
}

} // namespace thalweg::machine
