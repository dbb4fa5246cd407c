#include "tests/simulator/node_judge.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "tests/simulator/node_owner.h"
#include "tests/simulator/node_resumption.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/read/reader.h"

namespace thalweg::simulator {
namespace {

// Clears its memory; it may be started again.
void lose(NodeSnapshot& state, std::uint32_t machine, Random& random) {
    lose_machine(state.disk, machine, draw_survival(random), random);
    std::erase_if(state.memory, [&](auto const& each) { return machine_of_segment(each.first) == machine; });
    state.machines[machine].boot += "'";
}

class NodeJudge {
  public:
    NodeJudge(Workshop& workshop, std::string const& path, std::uint64_t seed, Verdict& verdict)
        : workshop_(workshop), path_(path), random_(seed), verdict_(verdict) {}

    void judge_state(NodeSnapshot const& snapshot) {
        auto state = snapshot;
        has_memory_.assign(state.machines.size(), true);
        for (std::uint32_t machine = 0; machine < state.machines.size(); ++machine)
            has_memory_[machine] = state.machines[machine].is_up;
        if (random_.chance(0.3))
            cut_power(state);
        else
            stop_processes(state);
        start_again(state);
        machine_ = static_cast<std::uint32_t>(random_.below(state.machines.size()));
        name_ += fmt::format(", recovered on machine {}", machine_ + 1);
        for (auto const& [who, promise] : state.promises.rows.producers) {
            verdict_.rows += promise.taken;
            verdict_.promised_rows += has_all(state.promises, promise.node) ? promise.taken : promise.durable;
        }
        if (random_.chance(0.35))
            resume(state);
        else
            recover(state, true);
    }

  private:
    // All nodes resume, each on its machine: what was in the memory of each is there. If that is refused, the run is
    // recovered.
    void resume(NodeSnapshot const& state) {
        ++verdict_.states;
        auto const has_all = [&](std::uint32_t node) {
            auto const& word = state.promises.nodes[node];
            return word.closed || word.kept ||
                   (has_memory_[node] && state.promises.is_waited_for(node) && !state.promises.complete);
        };
        auto const result = resume_nodes(workshop_, path_, state, has_all, name_, random_);
        verdict_.faults.insert(verdict_.faults.end(), result.faults.begin(), result.faults.end());
        if (!verdict_.faults.empty()) {
            verdict_.faults.push_back(describe(state));
            return;
        }
        verdict_.resumed += !result.refused;
        if (result.refused) {
            name_ += ", where it was not resumed";
            recover(result.after, true);
        }
        if (result.stop) die_again(*result.stop, result.stop_is_behind);
        if (!result.refused && result.after.promises.complete && random_.chance(0.3))
            lose_again(result.after, *result.after.promises.complete);
    }

    // Stops everything again, while the run was resumed or after that.
    void die_again(NodeSnapshot state, bool is_behind) {
        auto const name = name_ + (is_behind ? ", resumed, " : ", being resumed, ");
        if (is_behind) has_memory_.assign(state.machines.size(), true);
        if (random_.chance(0.4) && !state.promises.rows.sync_failed)
            cut_power(state);
        else
            stop_processes(state);
        name_ = name + name_;
        start_again(state);
        recover(state, true);
    }

    void cut_power(NodeSnapshot& state) {
        state.disk = after_power_cut(state.disk, draw_survival(random_), random_);
        state.memory.clear();
        for (auto& machine : state.machines) machine.boot += "'";
        std::fill(has_memory_.begin(), has_memory_.end(), false);
        name_ = "after a power cut";
    }

    // Stops the processes of all machines, some of which lose their memory.
    void stop_processes(NodeSnapshot& state) {
        name_ = "after the death of all processes";
        if (random_.chance(0.6)) {
            for (std::uint32_t machine = 0; machine < state.machines.size(); ++machine) {
                if (!random_.chance(0.5)) continue;
                lose(state, machine, random_);
                has_memory_[machine] = false;
                name_ += fmt::format(" and of machine {}", machine + 1);
            }
        }
        state.disk = after_death(state.disk, state.now_ns + 1'000'000'000, random_);
    }

    static void start_again(NodeSnapshot& state) {
        state.now_ns += 1'000'000'000;
        for (auto& machine : state.machines) {
            if (!machine.is_up) machine.boot += "'";
            machine.is_up = true;
            machine.stopped_until_ns = 0;
        }
    }

    // Returns whether everything that `append` has taken must be there: for a node that said so, and for the one on
    // whose machine the run is recovered.
    bool has_all(NodePromises const& promises, std::uint32_t node) const {
        auto const& word = promises.nodes[node];
        if (word.closed || word.kept) return true;
        return is_first_try_ && node == machine_ && has_memory_[node] && promises.is_waited_for(node) &&
               !promises.complete;
    }

    struct Outcome {
        std::optional<Found> found;
        std::vector<std::string> notes;
    };

    std::optional<Found> recover(NodeSnapshot const& state, bool first) {
        ++verdict_.states;
        Outcome outcome;
        std::vector<NodeSnapshot> stops; // the instants at which this recovery is stopped, too
        NodeSnapshot after;
        {
            World world(workshop_, random_.word(), calm(random_), state.disk, state.memory, state.now_ns,
                        state.machines);
            auto const blame = [&](std::string const& text) { world.blame(fmt::format("{}: {}", name_, text)); };
            world.start_process(
                [&] {
                    try_to_recover(world, state, outcome, blame);
                    if (!world.faults().empty()) blame(describe(state));
                },
                machine_);
            auto stop = first && random_.chance(0.4) ? random_.any_size(500) : kNever;
            auto const snapshot = [&] {
                return NodeSnapshot{world.disk, world.names.state(), state.promises, world.now_ns(), world.machines()};
            };
            world.run([&] {
                if (world.turns() < stop) return false;
                stop = kNever;
                stops.push_back(snapshot());
                return false;
            });
            after = snapshot();
            verdict_.faults.insert(verdict_.faults.end(), world.faults().begin(), world.faults().end());
        }
        if (!verdict_.faults.empty() || !outcome.found) return outcome.found;
        for (auto const& stop : stops) try_again(stop, *outcome.found);
        if (first && random_.chance(0.3) && !state.promises.rows.sync_failed) lose_again(after, *outcome.found);
        return outcome.found;
    }

    void try_to_recover(World& world, NodeSnapshot const& state, Outcome& outcome, Blame const& blame) {
        auto const& promises = state.promises;
        bool const was_complete = opens_as_complete(path_);
        if (was_complete && !promises.rows.close_begun && !promises.recovery_begun && is_first_try_)
            blame("a run that was not closed opens as a complete file");
        std::optional<dataset::RunReport> report;
        recover_without_answers(world);
        try {
            report = recover_once();
        } catch (base::Error const& error) {
            bool const there = opens_as_complete(path_);
            if (!there && promises.is_there()) blame(fmt::format("it cannot be recovered: {}", error.what()));
            if (!there) return;
        }
        try {
            outcome.found = read(world, blame);
        } catch (base::Error const& error) {
            if (promises.is_there()) blame(fmt::format("what was recovered cannot be read: {}", error.what()));
            return;
        }
        check_promises(
            promises.rows, *outcome.found, [&](std::uint32_t node) { return has_all(promises, node); }, blame);
        if (promises.complete && *promises.complete != *outcome.found) blame("it was complete, and has other rows now");
        if (report) {
            if (!was_complete) check_what_is_lost_is_named(promises, *outcome.found, *report, blame);
            check_nothing_is_left(world, blame);
        }
        if (world.faults().empty() || !report) return;
        for (auto const& note : report->notes) blame("recover said: " + note);
    }

    // Whatever it says where the machine may have no answer, nothing may be lost by it.
    void recover_without_answers(World& world) {
        Random questions(mix(world.now_ns() ^ 0x7175657374));
        if (!questions.chance(0.1)) return;
        world.weather.no_answer_chance = questions.one_of({0.02, 0.2, 0.7});
        try {
            dataset::recover(path_, {.all_nodes_are_down = true});
        } catch (base::Error const&) {
        }
        world.weather.no_answer_chance = 0;
    }

    // Tries first without knowledge of the other machines: that recovers nothing or everything.
    dataset::RunReport recover_once() {
        if (random_.chance(0.5)) {
            try {
                return dataset::recover(path_).report;
            } catch (base::UsageError const&) {
            }
        }
        return dataset::recover(path_, {.all_nodes_are_down = true}).report;
    }

    Found read(World& world, Blame const& blame) const {
        auto const reader = dataset::Reader::open(path_);
        World::Undivided const undivided(world);
        return read_all(*reader, blame);
    }

    // Checks that nothing is left beside the file, or in the memory of this machine.
    void check_nothing_is_left(World& world, Blame const& blame) const {
        for (auto const& [name, inode] : world.disk.names) {
            if (name != path_) blame(fmt::format("{} is left behind", name));
        }
        for (auto const& [name, bytes] : world.names.segments) {
            if (machine_of_segment(name) == machine_) blame(fmt::format("{} is left in the memory", name));
        }
    }

    static std::string describe(NodeSnapshot const& state) {
        std::string text = fmt::format("at {} ns there were", state.now_ns);
        for (auto const& [path, inode] : state.disk.names)
            text += fmt::format(" {} ({} B)", path, state.disk.files.at(inode).cache.size());
        for (auto const& [name, bytes] : state.memory) text += fmt::format(" {} ({} B)", name, bytes.size());
        for (std::uint32_t node = 0; node < state.promises.nodes.size(); ++node) {
            auto const& word = state.promises.nodes[node];
            text += fmt::format("; node {}:{}{}{}{}", node + 1, word.joined ? " joined" : "",
                                word.close_begun ? " close" : "", word.closed ? "d" : "", word.kept ? " kept" : "");
        }
        for (auto const& [who, promise] : state.promises.rows.producers)
            text += fmt::format("; producer {} on node {}: {} begun, {} taken, {} durable", who, promise.node + 1,
                                promise.begun, promise.taken, promise.durable);
        for (auto const& [who, unit] : state.promises.rows.units)
            text += fmt::format("; unit {} (try {}) on node {}: state {}{}", unit.key, who, unit.node + 1,
                                static_cast<int>(unit.state), unit.durable ? ", durable" : "");
        return text;
    }

    // The recovery was killed: the next one on its machine must find the same. If the machine or the power failed, it
    // must find at least what is durable.
    void try_again(NodeSnapshot const& stop, Found const& expected) {
        auto const name = name_;
        auto const machine = machine_;
        auto state = stop;
        bool is_same = false;
        if (auto const choice = random_.below(3); choice == 0) {
            state.disk = after_death(state.disk, state.now_ns + 1'000'000'000, random_);
            name_ += ", then the death of the recovery";
            is_same = true;
        } else if (stop.promises.rows.sync_failed) {
            return;
        } else if (choice == 1) {
            state.disk = after_power_cut(state.disk, draw_survival(random_), random_);
            state.memory.clear();
            for (auto& each : state.machines) each.boot += "'";
            name_ += ", then a power cut in the recovery";
        } else {
            lose(state, machine_, random_);
            state.disk = after_death(state.disk, state.now_ns + 1'000'000'000, random_);
            machine_ = static_cast<std::uint32_t>(random_.below(state.machines.size()));
            name_ += fmt::format(", then the death of its machine, recovered on machine {}", machine_ + 1);
        }
        is_first_try_ = false;
        start_again(state);
        auto const again = recover(state, false);
        if (is_same && verdict_.faults.empty() && again != expected)
            verdict_.faults.push_back(name_ + ": the second recovery found other rows than the first");
        is_first_try_ = true;
        machine_ = machine;
        name_ = name;
    }

    // A finished recovery is final: what it has reported must stay.
    void lose_again(NodeSnapshot const& after, Found const& expected) {
        auto const name = name_;
        auto state = after;
        if (random_.chance(0.5)) {
            state.disk = after_power_cut(state.disk, draw_survival(random_), random_);
            state.memory.clear();
            name_ += ", then a power cut behind the recovery";
        } else {
            auto const machine = static_cast<std::uint32_t>(random_.below(state.machines.size()));
            lose(state, machine, random_);
            name_ += fmt::format(", then the death of machine {} behind the recovery", machine + 1);
        }
        is_first_try_ = false;
        start_again(state);
        auto const again = recover(state, false);
        if (verdict_.faults.empty() && again != expected)
            verdict_.faults.push_back(name_ + ": rows are lost that the recovery had found");
        is_first_try_ = true;
        name_ = name;
    }

    Workshop& workshop_;
    std::string path_;
    Random random_;
    Verdict& verdict_;
    std::uint32_t machine_ = 0; // the machine that recovers
    std::vector<bool> has_memory_;
    bool is_first_try_ = true;
    std::string name_;
};

} // namespace

Verdict judge_nodes(Workshop& workshop, std::string const& path, NodeSnapshot const& snapshot, std::uint64_t seed,
                    std::uint64_t states) {
    Verdict verdict;
    for (std::uint64_t i = 0; i < states && verdict.faults.empty(); ++i)
        NodeJudge(workshop, path, mix(seed + i), verdict).judge_state(snapshot);
    return verdict;
}

} // namespace thalweg::simulator
