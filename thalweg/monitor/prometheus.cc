#include "thalweg/monitor/prometheus.h"

#include <cmath>
#include <fmt/format.h>
#include <map>

namespace thalweg::monitor {
namespace {

std::string escaped(std::string_view text, bool quotes) {
    std::string result;
    for (char const c : text) {
        if (c == '\n') {
            result += "\\n";
            continue;
        }
        if (c == '\\' || (quotes && c == '"')) result += '\\';
        result += c;
    }
    return result;
}

std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
    // Counters are whole numbers, and people read them: 46200000, not 4.62e+07.
    if (value == std::trunc(value) && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
    return fmt::format("{}", value);
}

std::string labels_of(trace::Sample const& sample) {
    std::string text;
    for (auto const& [name, value] : sample.labels) {
        text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", name, escaped(value, true));
    }
    return text.empty() ? "" : "{" + text + "}";
}

char const* type_of(trace::Sample const& sample) {
    switch (sample.kind) {
    case trace::Sample::Kind::counter:
        return "counter";
    case trace::Sample::Kind::gauge:
        return "gauge";
    case trace::Sample::Kind::histogram:
        return "histogram";
    }
    return "untyped";
}

std::string_view family_of(trace::Sample const& sample) {
    std::string_view name = sample.name;
    if (sample.kind != trace::Sample::Kind::histogram) return name;
    for (std::string_view const ending : {"_bucket", "_count", "_sum"}) {
        if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
    }
    return name;
}

std::string header_of(std::string_view family, trace::Sample const& first) {
    std::string text;
    if (!first.help.empty()) text = fmt::format("# HELP {} {}\n", family, escaped(first.help, false));
    return text + fmt::format("# TYPE {} {}\n", family, type_of(first));
}

} // namespace

std::string prometheus_text(std::vector<trace::Sample> const& samples) {
    std::vector<std::string> families; // the lines of one family must stand together
    std::map<std::string_view, std::size_t> places;
    for (auto const& sample : samples) {
        auto const family = family_of(sample);
        auto const [place, is_new] = places.try_emplace(family, families.size());
        if (is_new) families.push_back(header_of(family, sample));
        families[place->second] += sample.name + labels_of(sample) + " " + number(sample.value) + "\n";
    }
    return fmt::format("{}", fmt::join(families, ""));
}

} // namespace thalweg::monitor
