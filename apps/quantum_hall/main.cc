// quantum-hall: order-N quantum Hall transport. `quantum-hall --help` has the options, README.md the rest.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <thalweg/base/error.h>

#include "options.h"
#include "programs.h"
#include "strips.h"

using namespace quantum_hall;

namespace {

enum Exit { success = 0, failure = 1, wrong_usage = 2 };

int run(std::vector<std::string> const& words) {
    auto const options = parse_options(words);
    if (!options) {
        if (Strips::rank() == 0) std::fputs(help().c_str(), stdout);
        return words.empty() ? wrong_usage : success;
    }
    if (options->program == "dos") run_dos(*options);
    if (options->program == "moments") run_moments(*options);
    if (options->program == "hall") run_hall(*options);
    if (options->program == "evolve") run_evolve(*options);
    if (options->program == "exact") run_exact(*options);
    return success;
}

// What all ranks have found alike is said once, and they end in good order.
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
