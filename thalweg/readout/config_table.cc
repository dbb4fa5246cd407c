#include "thalweg/readout/config_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/felix/block.h"

namespace thalweg::readout {
namespace {

// Returns whether the whole of `text` is a number.
template <class T> bool parse_number(std::string_view text, T& out) {
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc{} && end == text.data() + text.size();
}

double parse_rate_hz(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{
        {{"GHz", 1e9}, {"MHz", 1e6}, {"kHz", 1e3}, {"Hz", 1}}};
    for (auto const& [unit, factor] : kUnits) {
        if (!text.ends_with(unit)) continue;
        text.remove_suffix(unit.size());
        while (text.ends_with(' ')) text.remove_suffix(1);
        double number = 0;
        return parse_number(text, number) ? number * factor : -1;
    }
    return -1;
}

} // namespace

ConfigTable::ConfigTable(Json const& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) base::fail_usage({fmt::format("{} is not a table", where_)});
}

ConfigTable::Json const* ConfigTable::find(std::string_view key) {
    known_.emplace_back(key);
    auto const found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
}

void ConfigTable::refuse(std::string_view key, std::string const& why) const {
    base::fail_usage({fmt::format("{}: {} {}", where_, key, why)});
}

void ConfigTable::read(std::string_view key, bool& out) {
    auto const* const value = find(key);
    if (value == nullptr) return;
    if (!value->is_boolean()) refuse(key, fmt::format("is {}: write true or false", value->dump()));
    out = value->get<bool>();
}

void ConfigTable::read(std::string_view key, std::string& out) {
    auto const* const value = find(key);
    if (value == nullptr) return;
    if (!value->is_string()) refuse(key, fmt::format("is {}: write a text", value->dump()));
    out = value->get<std::string>();
}

void ConfigTable::read(std::string_view key, std::vector<std::string>& out) {
    auto const* const value = find(key);
    if (value == nullptr) return;
    auto const is_text = [](Json const& item) { return item.is_string(); };
    if (!value->is_array() || !std::all_of(value->begin(), value->end(), is_text))
        refuse(key, fmt::format("is {}: write a list of texts", value->dump()));
    out = value->get<std::vector<std::string>>();
}

void ConfigTable::read_secret(std::string_view key, std::string& out) {
    auto const* const value = find(key);
    if (value == nullptr) return;
    if (!value->is_string()) refuse(key, "is no text (it is not shown here): write it in quotes");
    out = value->get<std::string>();
}

std::uint64_t ConfigTable::whole_number(std::string_view key, std::uint64_t otherwise, std::uint64_t most) {
    auto const* const value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() > most)
        refuse(key, fmt::format("is {}: write a whole number from 0 to {}", value->dump(), most));
    return value->get<std::uint64_t>();
}

std::uint64_t ConfigTable::size_bytes(std::string_view key, std::uint64_t otherwise, std::uint64_t most) {
    auto const found = json_.find(key);
    if (found == json_.end() || !found->is_string()) return whole_number(key, otherwise, most);
    known_.emplace_back(key);
    try {
        auto const bytes = base::parse_size_bytes(found->get<std::string>());
        if (bytes <= most) return bytes;
    } catch (base::UsageError const& error) {
        refuse(key, fmt::format("is no size ({})", error.what()));
    }
    refuse(key, fmt::format("is {}: more than {} bytes", found->dump(), most));
}

void ConfigTable::read_duration_ns(std::string_view key, std::uint64_t& out) {
    auto const* const value = find(key);
    if (value == nullptr) return;
    if (!value->is_string() && !value->is_number())
        refuse(key, fmt::format("is {}: write a duration, such as \"100ms\"", value->dump()));
    try {
        out = base::parse_duration_ns(value->is_string() ? value->get<std::string>() : value->dump());
    } catch (base::UsageError const& error) {
        refuse(key, fmt::format("is no duration ({})", error.what()));
    }
}

void ConfigTable::read_rate_hz(std::string_view key, double& out) {
    auto const* const value = find(key);
    if (value == nullptr) return;
    double rate_hz = -1;
    if (value->is_number()) rate_hz = value->get<double>();
    if (value->is_string()) rate_hz = parse_rate_hz(value->get<std::string>());
    if (!std::isfinite(rate_hz) || rate_hz <= 0)
        refuse(key, fmt::format("is {}: write a rate, such as \"1MHz\"", value->dump()));
    out = rate_hz;
}

void ConfigTable::append_elinks(std::string_view key, Json const& item, std::vector<std::uint16_t>& out) const {
    std::uint32_t first = felix::kElinks, last = felix::kElinks;
    if (item.is_number_unsigned()) {
        first = last = static_cast<std::uint32_t>(std::min<std::uint64_t>(item.get<std::uint64_t>(), felix::kElinks));
    } else if (item.is_string()) {
        auto const text = item.get<std::string>();
        auto const dash = std::min(text.find('-'), text.size());
        bool const is_range = dash < text.size();
        if (!parse_number(std::string_view(text).substr(0, dash), first)) first = felix::kElinks;
        last = first;
        if (is_range && !parse_number(std::string_view(text).substr(dash + 1), last)) last = felix::kElinks;
    }
    if (first > last || last >= felix::kElinks)
        refuse(key,
               fmt::format("has {}: write numbers up to {}, and ranges \"0-13\"", item.dump(), felix::kElinks - 1));
    for (auto elink = first; elink <= last; ++elink) {
        if (std::find(out.begin(), out.end(), elink) != out.end())
            refuse(key, fmt::format("has e-link {} twice", elink));
        out.push_back(static_cast<std::uint16_t>(elink));
    }
}

void ConfigTable::read_elinks(std::string_view key, std::vector<std::uint16_t>& out) {
    auto const* const value = find(key);
    if (value == nullptr) return;
    out.clear();
    if (!value->is_array()) return append_elinks(key, *value, out);
    for (auto const& item : *value) append_elinks(key, item, out);
}

std::size_t ConfigTable::read_word(std::string_view key, std::vector<std::string_view> const& words,
                                   std::size_t otherwise) {
    auto const* const value = find(key);
    if (value == nullptr) return otherwise;
    auto const found =
        value->is_string() ? std::find(words.begin(), words.end(), value->get<std::string>()) : words.end();
    if (found == words.end()) refuse(key, fmt::format("is {}: there are {}", value->dump(), fmt::join(words, ", ")));
    return static_cast<std::size_t>(found - words.begin());
}

void ConfigTable::read_table(std::string_view key, std::function<void(ConfigTable&)> const& read) {
    auto const* const value = find(key);
    if (value == nullptr) return;
    ConfigTable table(*value, fmt::format("{}, [{}]", where_, key));
    read(table);
    table.finish();
}

void ConfigTable::read_tables(std::string_view key, std::function<void(ConfigTable&, std::size_t)> const& read) {
    auto const* const value = find(key);
    if (value == nullptr) return;
    if (!value->is_array()) refuse(key, fmt::format("is a list of tables: write [[{}]]", key));
    for (std::size_t i = 0; i < value->size(); ++i) {
        ConfigTable table((*value)[i], fmt::format("{}, {} {}", where_, key, i + 1));
        read(table, i);
        table.finish();
    }
}

void ConfigTable::finish() const {
    for (auto const& item : json_.items())
        if (std::find(known_.begin(), known_.end(), item.key()) == known_.end())
            base::fail_usage({fmt::format("{}: there is no '{}'", where_, item.key()), "",
                              fmt::format("there are {}", fmt::join(known_, ", "))});
}

} // namespace thalweg::readout
