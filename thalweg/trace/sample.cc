#include "thalweg/trace/sample.h"

#include <algorithm>

#include "thalweg/trace/trace.h"

namespace thalweg::trace {
namespace {

constexpr std::string_view kNanoseconds = "_ns";

Sample sample_of(std::string name, std::uint64_t count) {
    std::ranges::replace(name, '.', '_');
    auto value = static_cast<double>(count);
    if (name.ends_with(kNanoseconds)) { // Prometheus has seconds only
        name.replace(name.size() - kNanoseconds.size(), kNanoseconds.size(), "_seconds");
        value *= 1e-9;
    }
    return {.name = "thalweg_" + name + "_total", .help = "", .value = value};
}

} // namespace

std::vector<Sample> samples() {
    std::vector<Sample> result;
    for (auto const& [name, count] : snapshot()) result.push_back(sample_of(name, count));
    return result;
}

} // namespace thalweg::trace
