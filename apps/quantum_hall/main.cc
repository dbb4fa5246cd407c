// quantum-hall: order-N quantum Hall transport. `quantum-hall --help` has the options, README.md the rest.
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include <thalweg/base/error.h>

#include "options.h"
#include "programs.h"
#include "strips.h"

using namespace quantum_hall;

namespace {

enum Exit { success = 0, failure = 1, wrong_usage = 2, unfinished = 3 };

int run(std::vector<std::string> const& words) {
    auto const options = parse_options(words);
    if (!options) {
        if (Strips::rank() == 0) std::fputs(help().c_str(), stdout);
        return words.empty() ? wrong_usage : success;
    }
    static std::map<std::string, bool (*)(Options const&)> const programs{
        {"dos", run_dos}, {"moments", run_moments}, {"hall", run_hall}, {"evolve", run_evolve}, {"exact", run_exact}};
    return programs.at(options->program)(*options) ? success : unfinished;
}

// An error that all ranks have found is reported once, and they end in order.
int fail(std::exception const& error, Exit code) {
    if (Strips::rank() == 0) std::fprintf(stderr, "quantum-hall: %s\n", error.what());
    return code;
}

} // namespace

int main(int argc, char** argv) {
    Strips::start(&argc, &argv);
    int code = failure;
    try {
        code = run({argv + 1, argv + argc});
    } catch (thalweg::base::UsageError const& error) {
        code = fail(error, wrong_usage);
    } catch (std::exception const& error) {
        std::fprintf(stderr, "quantum-hall: %s\n", error.what());
        Strips::abort(failure); // the others may wait for this rank
    }
    Strips::finish();
    return code;
}
