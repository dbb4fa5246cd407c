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

std::string header_of(trace::Sample const& first) {
    std::string text;
    if (!first.help.empty()) text = fmt::format("# HELP {} {}\n", first.name, escaped(first.help, false));
    bool const counts = first.kind == trace::Sample::Kind::counter;
    return text + fmt::format("# TYPE {} {}\n", first.name, counts ? "counter" : "gauge");
}

} // namespace

std::string prometheus_text(std::vector<trace::Sample> const& samples) {
    std::vector<std::string> families; // the lines of one family must stand together
    std::map<std::string_view, std::size_t> places;
    for (auto const& sample : samples) {
        auto const [place, is_new] = places.try_emplace(sample.name, families.size());
        if (is_new) families.push_back(header_of(sample));
        families[place->second] += sample.name + labels_of(sample) + " " + number(sample.value) + "\n";
    }
    return fmt::format("{}", fmt::join(families, ""));
}

} // namespace thalweg::monitor
