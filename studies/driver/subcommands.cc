#include "studies/driver/subcommands.h"

#include <fmt/format.h>

#include "thalweg/base/error.h"

namespace thalweg::study {

int run_subcommand(Subcommands const& subcommands, std::span<char* const> words) {
    auto const found = words.size() > 1 ? subcommands.find(words[1]) : subcommands.end();
    if (found == subcommands.end()) {
        fmt::print(stderr, "{}: take one of", words[0]);
        for (auto const& [name, measure] : subcommands) fmt::print(stderr, " {}", name);
        fmt::print(stderr, "\n");
        return 2;
    }
    try {
        Arguments arguments(words.subspan(2));
        auto const result = found->second(arguments);
        arguments.check_all_used();
        fmt::print("{}\n", result.dump());
        return 0;
    } catch (base::UsageError const& error) {
        fmt::print(stderr, "{}: {}\n", words[0], error.what());
        return 2;
    } catch (std::exception const& error) {
        fmt::print(stderr, "{}: {}\n", words[0], error.what());
        return 1;
    }
}

} // namespace thalweg::study
