// study SUBCOMMAND --name value ...
#include <cstdio>
#include <fmt/format.h>
#include <map>

#include "studies/driver/measurements.h"
#include "thalweg/base/error.h"

int main(int count, char** words) {
    using namespace thalweg;
    std::map<std::string, study::Json (*)(study::Arguments&)> const subcommands{
        {"write", study::measure_write},          {"pages", study::measure_pages},
        {"memory", study::measure_memory},        {"source", study::measure_source},
        {"encode", study::measure_encode},        {"read", study::measure_read},
        {"pulses", study::dump_pulses},           {"produce", study::produce_for_memory},
        {"projection", study::measure_projection}};
    auto const found = count > 1 ? subcommands.find(words[1]) : subcommands.end();
    if (found == subcommands.end()) {
        fmt::print(stderr, "study: take one of");
        for (auto const& [name, measure] : subcommands) fmt::print(stderr, " {}", name);
        fmt::print(stderr, "\n");
        return 2;
    }
    try {
        study::Arguments arguments({words + 2, static_cast<std::size_t>(count - 2)});
        auto const result = found->second(arguments);
        arguments.check_all_used();
        fmt::print("{}\n", result.dump());
        return 0;
    } catch (base::UsageError const& error) {
        fmt::print(stderr, "study: {}\n", error.what());
        return 2;
    } catch (std::exception const& error) {
        fmt::print(stderr, "study: {}\n", error.what());
        return 1;
    }
}
