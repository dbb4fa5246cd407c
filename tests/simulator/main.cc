// This program plays campaigns, or one history:
//   simulate [--seconds S] [--jobs N] [--seed FIRST] [--container h5|root] [--nodes one|several] [--states N]
//            [--total FILE]
//   simulate --replay SEED --container h5|root [--nodes several] [--states N]
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/file.h>

#include "tests/simulator/campaign.h"
#include "tests/simulator/node_history.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/random.h"

namespace {

using namespace thalweg;
using namespace thalweg::simulator;

void tell(Kind kind, Totals const& totals) {
    auto const per_second = [](std::uint64_t count, std::uint64_t cpu_ns) {
        return cpu_ns == 0 ? 0 : static_cast<double>(count) * 1e9 / static_cast<double>(cpu_ns);
    };
    if (totals.histories == 0) return;
    auto const special =
        kind.of_nodes
            ? fmt::format("{} machines died, {} stood still, {} runs were recovered meanwhile, {} were resumed",
                          totals.machine_deaths, totals.machine_stops, totals.recovered_stopped, totals.resumed)
            : fmt::format("{} in the order of keys, runs were resumed {} times, and went on in {} further files, {} "
                          "copies were recovered, {} open runs showed rows",
                          totals.ordered, totals.resumed, totals.further_files, totals.copies, totals.shown);
    fmt::print(stderr,
               "{:4}{}: {} histories ({:.0f} a second and core), {} crash states ({:.0f} a second and core), {} with a "
               "fault; {} were closed, {}, {} of {} rows were promised\n",
               kind.name(), kind.of_nodes ? ", several nodes" : "", totals.histories,
               per_second(totals.histories, totals.history_ns), totals.states,
               per_second(totals.states, totals.state_ns), totals.faults, totals.closed, special, totals.promised_rows,
               totals.rows);
}

std::string key_of(Kind kind) { return kind.name() + (kind.of_nodes ? "_nodes" : ""); }

// Adds to the sums of all campaigns so far. The file is replaced as a whole, so a kill at this point loses none of
// them.
std::uint64_t add_up(std::string const& path, CampaignResult const& more) {
    auto const lock = base::open_file(path + ".lock", O_RDWR | O_CREAT);
    ::flock(lock.get(), LOCK_EX);
    std::ifstream in(path);
    auto json = nlohmann::ordered_json::parse(in, nullptr, false);
    if (!json.is_object()) json = nlohmann::ordered_json::object();
    for (auto const kind : kKinds) {
        auto const& totals = more.of(kind);
        auto& sums = json[key_of(kind)];
        auto const add = [&]<class Count>(char const* key, Count count) {
            sums[key] = sums.value(key, Count{}) + count;
        };
        if (!sums.is_object()) sums = nlohmann::ordered_json::object();
        add("histories", totals.histories);
        add("states", totals.states);
        if (kind.of_nodes)
            add("machine_deaths", totals.machine_deaths);
        else
            add("copies", totals.copies);
        add("shown", totals.shown);
        add("cpu_s", static_cast<double>(totals.history_ns + totals.state_ns) / 1e9);
        add("faults", totals.faults);
    }
    auto const whole = path + ".new";
    std::ofstream out(whole);
    out << json.dump(2) << '\n';
    out.close();
    if (!out || std::rename(whole.c_str(), path.c_str()) != 0) {
        fmt::print(stderr, "simulate: cannot write {}: what is added up there is not what was played\n", path);
        std::exit(2);
    }
    std::uint64_t states = 0;
    for (auto const kind : kKinds) states += json[key_of(kind)]["states"].get<std::uint64_t>();
    return states;
}

[[noreturn]] void refuse(std::string const& what) {
    fmt::print(
        stderr,
        "simulate: {}. Give --seconds S, --jobs N, --seed FIRST, --container h5|root, --nodes one|several, --states N, "
        "--total FILE, --replay SEED, --lying-file END_OF_PATH\n",
        what);
    std::exit(2);
}

int replay(std::uint64_t seed, Kind kind, CampaignOptions const& options) {
    Workshop workshop;
    std::vector<std::string> faults;
    auto const say = [&](auto const& history) {
        fmt::print(stderr, "seed {} ({}): {} turns, trace {:016x}, {} points at which all stops\n", seed, kind.name(),
                   history.turns, history.trace, history.snapshots.size());
    };
    if (kind.of_nodes) {
        auto const history =
            run_node_history(workshop, kind.container, seed, 6, {options.lying_file, options.lying_to});
        say(history);
        fmt::print(stderr, "  {}\n", str(draw_node_scenario(kind.container, seed)));
        for (auto const& line : history.events) fmt::print(stderr, "  {}\n", line);
    } else
        say(run_history(workshop, kind.container, seed, 6, options.lying_file));
    auto const totals = play(workshop, kind, seed, options, faults);
    tell(kind, totals);
    for (auto const& fault : faults) fmt::print(stderr, "  {}\n", fault);
    return faults.empty() ? 0 : 1;
}

} // namespace

int main(int count, char** arguments) {
    CampaignOptions options;
    std::string total;
    std::optional<std::uint64_t> seed_to_replay;
    options.first_seed = base::random_word() >> 24;
    for (int i = 1; i < count; i += 2) {
        std::string const name = arguments[i];
        if (i + 1 == count) refuse(name + " has no value");
        std::string const value = arguments[i + 1];
        if (name == "--seconds")
            options.seconds = std::stod(value);
        else if (name == "--jobs")
            options.jobs = static_cast<unsigned>(std::stoul(value));
        else if (name == "--seed")
            options.first_seed = std::stoull(value);
        else if (name == "--states")
            options.states = std::stoull(value);
        else if (name == "--total")
            total = value;
        else if (name == "--replay")
            seed_to_replay = std::stoull(value);
        else if (name == "--lying-file")
            options.lying_file = value;
        else if (name == "--nodes" && (value == "one" || value == "several"))
            options.of_nodes = value == "several";
        else if (name == "--container" && value == "h5")
            options.container = Container::hdf5;
        else if (name == "--container" && value == "root")
            options.container = Container::rntuple;
        else
            refuse(fmt::format("there is no {} {}", name, value));
    }
    if (seed_to_replay) {
        if (!options.container) refuse("--replay needs --container");
        return replay(*seed_to_replay, {*options.container, options.of_nodes.value_or(false)}, options);
    }
    std::uint64_t states_so_far = 0;
    auto const result = run_campaign(options, [&](CampaignResult const& more) {
        for (auto const& finding : more.findings) {
            fmt::print(stderr, "{}\n  replay: simulate --container {}{} --replay {} --states {}\n", finding.text,
                       finding.kind.name(), finding.kind.of_nodes ? " --nodes several" : "", finding.seed,
                       options.states);
        }
        if (!total.empty()) states_so_far = add_up(total, more);
    });
    for (auto const kind : kKinds) tell(kind, result.of(kind));
    if (!total.empty()) fmt::print(stderr, "in {} so far: {} crash states\n", total, states_so_far);
    return result.findings.empty() ? 0 : 1;
}
