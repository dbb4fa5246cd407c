#include "options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <thalweg/base/error.h>
#include <thalweg/base/near_miss.h>

namespace quantum_hall {

namespace {

using thalweg::base::fail_usage;

struct Words {
    std::string lattice = "honeycomb", size = "48x48", flux = "0";
};

template <class Number> Number number(std::string_view option, std::string_view text, Number least) {
    Number value{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= least) || value - value != Number{}) {
        fail_usage({std::string(option) + " " + std::string(text) + " is no number that it can take",
                    fmt::format("it takes one from {} on", least), "run `quantum-hall --help`"});
    }
    return value;
}

// Returns the text before and behind `mark`; both are the whole text if there is no mark.
std::pair<std::string_view, std::string_view> halves(std::string_view text, char mark) {
    auto const at = text.find(mark);
    if (at == std::string_view::npos) return {text, text};
    return {text.substr(0, at), text.substr(at + 1)};
}

std::vector<double> numbers(std::string_view option, std::string_view text) {
    std::vector<double> values;
    for (std::size_t begin = 0; begin <= text.size();) {
        auto const end = std::min(text.find(',', begin), text.size());
        values.push_back(number(option, text.substr(begin, end - begin), -1e300));
        begin = end + 1;
    }
    return values;
}

TraceKind trace_kind(std::string_view name) {
    static constexpr std::array<std::string_view, 3> names{"random", "all", "cell"};
    auto const place = std::ranges::find(names, name);
    if (place == names.end()) {
        fail_usage({"--trace " + std::string(name) + " is not known", "", thalweg::base::suggest(name, names)});
    }
    return static_cast<TraceKind>(place - names.begin());
}

struct Choice {
    std::string_view name, argument, description;
    std::function<void(Options&, Words&, std::string const&)> take;
};

using Text = std::string const&;

std::vector<Choice> const& choices() {
    static std::vector<Choice> const all{
        {"--lattice", "NAME", "honeycomb (default) or square",
         [](Options&, Words& to, Text text) { to.lattice = text; }},
        {"--size", "COLUMNSxROWS", "cells of the torus (48x48)",
         [](Options&, Words& to, Text text) { to.size = text; }},
        {"--flux", "P/Q", "flux quanta a cell (0)", [](Options&, Words& to, Text text) { to.flux = text; }},
        {"--disorder", "W", "energies of sites are in [-W/2, W/2) (0)",
         [](Options& to, Words&, Text text) { to.system.disorder = number("--disorder", text, 0.0); }},
        {"--seed", "N", "of disorder and random phases (1)",
         [](Options& to, Words&, Text text) { to.system.seed = number<std::uint64_t>("--seed", text, 0); }},
        {"--moments", "M", "Chebyshev moments: the resolution (256)",
         [](Options& to, Words&, Text text) { to.moments = number<std::size_t>("--moments", text, 4); }},
        {"--double-moments", "K", "moments, exact: as many rows and columns of double moments (0)",
         [](Options& to, Words&, Text text) { to.double_moments = number<std::size_t>("--double-moments", text, 0); }},
        {"--trace", "KIND", "random (default), all sites, or the first cell: exact without disorder",
         [](Options& to, Words&, Text text) { to.trace.kind = trace_kind(text); }},
        {"--random-states", "R", "random vectors (1)",
         [](Options& to, Words&, Text text) {
             to.trace.random_vectors = number<std::int64_t>("--random-states", text, 1);
         }},
        {"--energies", "E,E,...", "where results are wanted",
         [](Options& to, Words&, Text text) { to.energies = numbers("--energies", text); }},
        {"--time-step", "T", "evolve, exact: between results (1)",
         [](Options& to, Words&, Text text) { to.time_step = number("--time-step", text, 1e-9); }},
        {"--steps", "N", "evolve, exact: how many (10)",
         [](Options& to, Words&, Text text) { to.steps = number<std::size_t>("--steps", text, 1); }},
        {"--print-states", "", "evolve, exact: wave functions at the last time, of small systems",
         [](Options& to, Words&, Text) { to.print_states = true; }},
        {"--bloch", "", "exact: magnetic Bloch states, without disorder",
         [](Options& to, Words&, Text) { to.bloch = true; }},
        {"--checkpoint", "FILE", "saved here when the time is over or SIGTERM comes, to be continued",
         [](Options& to, Words&, Text text) { to.checkpoint = text; }},
        {"--checkpoint-every", "SECONDS", "and so often, too",
         [](Options& to, Words&, Text text) { to.checkpoint_every_s = number("--checkpoint-every", text, 0.0); }},
        {"--wall-time", "SECONDS", "save and end before so much time is over",
         [](Options& to, Words&, Text text) { to.wall_time_s = number("--wall-time", text, 0.0); }},
        {"--continue", "", "go on from --checkpoint, on any number of ranks",
         [](Options& to, Words&, Text) { to.continues = true; }},
        {"--out", "FILE", "results as an HDF5 file, which is replaced",
         [](Options& to, Words&, Text text) { to.out = text; }},
    };
    return all;
}

void fill_system(Options& options, Words const& words) {
    auto& system = options.system;
    system.lattice = lattice_named(words.lattice);
    if (words.size.find('x') == std::string::npos) {
        fail_usage({"--size " + words.size + " is no size", "it takes COLUMNSxROWS", "write --size 48x48"});
    }
    auto const [columns, rows] = halves(words.size, 'x');
    system.columns = number<std::int64_t>("--size", columns, 3);
    system.rows = number<std::int64_t>("--size", rows, 3);
    auto const [above, below] = halves(words.flux, '/');
    auto const quanta = number<std::int64_t>("--flux", above, -1'000'000'000);
    auto const cells = words.flux.find('/') != std::string::npos ? number<std::int64_t>("--flux", below, 1) : 1;
    if (quanta * system.rows % cells != 0) {
        fail_usage({"--flux " + words.flux + " does not fit into " + std::to_string(system.rows) + " rows",
                    "the phases of the rows have to close on the torus",
                    "choose a number of rows that is a multiple of " + std::to_string(cells)});
    }
    system.flux_quanta = quanta * system.rows / cells;
}

void check(Options const& options) {
    static constexpr std::array<std::string_view, 5> programs{"dos", "moments", "hall", "evolve", "exact"};
    if (std::ranges::find(programs, options.program) == programs.end()) {
        fail_usage(
            {"there is no program '" + options.program + "'", "", thalweg::base::suggest(options.program, programs)});
    }
    if (options.trace.kind == TraceKind::cell && options.system.disorder != 0) {
        fail_usage({"--trace cell does not go with --disorder", "cells differ then", "use --trace random or all"});
    }
    auto const needs_file = options.continues || options.wall_time_s < 1e300 || options.checkpoint_every_s < 1e300;
    if (needs_file && options.checkpoint.empty()) {
        fail_usage({"--continue, --wall-time and --checkpoint-every do not go without --checkpoint",
                    "there is no file to go on from", "add --checkpoint FILE"});
    }
    if (options.program == "exact" && !options.checkpoint.empty()) {
        fail_usage({"--checkpoint does not go with exact", "it does all at once", "leave it out"});
    }
    for (auto const energy : options.energies) {
        if (std::abs(energy) < options.system.half_width()) continue;
        fail_usage({fmt::format("--energies {}", energy) + " is outside of the spectrum",
                    fmt::format("it lies within +-{:.4g}", options.system.half_width()), "leave it out"});
    }
}

} // namespace

std::optional<Options> parse_options(std::vector<std::string> const& words) {
    Options options;
    Words values;
    if (words.empty() || std::ranges::find(words, "--help") != words.end()) return std::nullopt;
    options.program = words[0];
    for (std::size_t k = 1; k < words.size(); ++k) {
        auto const choice = std::ranges::find(choices(), words[k], &Choice::name);
        if (choice == choices().end()) {
            std::vector<std::string_view> names;
            for (auto const& known : choices()) names.push_back(known.name);
            fail_usage({"there is no option '" + words[k] + "'", "", thalweg::base::suggest(words[k], names)});
        }
        if (!choice->argument.empty() && k + 1 == words.size()) {
            fail_usage({words[k] + " stands alone", "it takes " + std::string(choice->argument), "add it"});
        }
        choice->take(options, values, choice->argument.empty() ? std::string() : words[++k]);
    }
    fill_system(options, values);
    check(options);
    return options;
}

std::string help() {
    std::string text = "usage: quantum-hall dos|moments|hall|evolve|exact [OPTION...]\n\n"
                       "Order-N quantum Hall transport: JSON on stdout, and HDF5 with --out. Energies are in units of\n"
                       "the hopping, conductivities in e^2/h for each spin.\n\n";
    for (auto const& choice : choices()) {
        auto left = "  " + std::string(choice.name) + " " + std::string(choice.argument);
        left.resize(std::max<std::size_t>(left.size() + 1, 28), ' ');
        text += left + std::string(choice.description) + "\n";
    }
    return text;
}

} // namespace quantum_hall
