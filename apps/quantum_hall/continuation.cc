#include "continuation.h"

#include <cstdio>
#include <filesystem>
#include <list>
#include <span>
#include <utility>

#include <thalweg/base/error.h>
#include <thalweg/checkpoint/restore.h>
#include <thalweg/checkpoint/save.h>

#include "report.h"

namespace quantum_hall {

namespace {

namespace checkpoint = thalweg::checkpoint;
namespace model = thalweg::model;
using thalweg::base::fail_usage;

constexpr char const* kAttribute = "quantum_hall";

checkpoint::Box box_of(Wave const& wave, Strips const& strips) {
    auto const number = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    return {{number(strips.first_row()), 0, 0},
            {number(wave.rows()), number(wave.columns()), number(wave.sublattices())}};
}

// Returns the text that this program leaves in its checkpoints; fails if there is none.
nlohmann::json said_by(checkpoint::State const& state) {
    for (auto const& attribute : state.attributes()) {
        if (attribute.name == kAttribute && attribute.texts.size() == 1) {
            return nlohmann::json::parse(attribute.texts[0]);
        }
    }
    fail_usage({state.path() + " is no checkpoint of quantum-hall",
                "it has no attribute '" + std::string(kAttribute) + "'", "name another file with --checkpoint"});
}

void check_same_run(std::string const& path, nlohmann::json const& there, nlohmann::json const& here) {
    std::string differences;
    for (auto const& [name, value] : here.items()) {
        auto const other = there.contains(name) ? there[name].dump() : "nothing";
        if (other == value.dump()) continue;
        differences += (differences.empty() ? "" : ", ") + name + " " + other + " there and " + value.dump() + " here";
    }
    if (differences.empty()) return;
    fail_usage({path + " is the checkpoint of another run", differences,
                "give the options that it was begun with, or name another file with --checkpoint"});
}

} // namespace

nlohmann::json identity(Options const& options) {
    auto what = described(options);
    what.erase("ranks");
    what["time_step"] = options.time_step;
    what["steps"] = options.steps;
    what["double_moments"] = options.double_moments;
    // Energies are only evaluated at the end; `evolve` only needs to know whether there are any.
    what["at_energies"] = !options.energies.empty();
    return what;
}

Continuation::Continuation(Options const& options, Strips& strips, Progress& progress)
    : options_(options), strips_(strips), progress_(progress), stop_(options.wall_time_s) {
    if (options_.checkpoint.empty()) return;
    watch_signals();
    if (options_.continues) {
        restore();
    } else if (strips_.any(std::filesystem::exists(options_.checkpoint))) {
        fail_usage({"there is a file at " + options_.checkpoint + " already", "a new run would replace it",
                    "add --continue to go on with it, or remove it"});
    }
}

void Continuation::restore() {
    auto const state = checkpoint::restore(options_.checkpoint, strips_.communicator());
    for (auto const& problem : state.problems()) {
        if (Strips::rank() == 0) std::fprintf(stderr, "quantum-hall: %s\n", problem.c_str());
    }
    auto const said = said_by(state);
    check_same_run(state.path(), said.at("run"), identity(options_));
    progress_.vectors = said.at("vectors");
    progress_.steps = said.at("steps");
    for (auto& [name, values] : progress_.results) {
        auto const& stored = state.array("results/" + name);
        values.resize(stored.shape.at(0));
        state.read(stored.name, {{0}, stored.shape}, std::as_writable_bytes(std::span(values)));
    }
    if (progress_.steps == 0) return;
    for (auto const& [name, wave] : progress_.waves) {
        auto values = wave->interleaved();
        state.read(name, box_of(*wave, strips_), std::as_writable_bytes(std::span(values)));
        wave->set_interleaved(values);
    }
}

// Throws, on all ranks, the error of the save.
void Continuation::wait_for_save() {
    if (auto saving = std::exchange(saving_, std::nullopt)) saving->wait();
}

void Continuation::save(bool in_background) {
    wait_for_save(); // one at a time
    std::vector<checkpoint::Array> arrays;
    std::list<std::vector<Complex>> memory; // used until everything is saved
    for (auto const& [name, values] : progress_.results) {
        checkpoint::Array array{"results/" + name, model::Scalar::float64, {values.size()}, {}};
        if (Strips::rank() == 0) array.blocks.push_back({{{0}, {values.size()}}, values.data()});
        arrays.push_back(array);
    }
    if (progress_.steps > 0) {
        for (auto const& [name, wave] : progress_.waves) {
            auto const& values = memory.emplace_back(wave->interleaved());
            auto const box = box_of(*wave, strips_);
            checkpoint::Array array{name, model::Scalar::complex128, box.shape, {{box, values.data()}}};
            array.shape[0] = static_cast<std::uint64_t>(options_.system.rows);
            arrays.push_back(array);
        }
    }
    nlohmann::json const said{{"run", identity(options_)}, {"vectors", progress_.vectors}, {"steps", progress_.steps}};
    checkpoint::SaveOptions how;
    how.attributes.push_back({kAttribute, std::nullopt, {}, {}, {said.dump()}});
    saving_.emplace(checkpoint::save_async(options_.checkpoint, arrays, strips_.communicator(), how));
    if (!in_background) wait_for_save();
    saved_s_ = stop_.seconds();
}

bool Continuation::goes_on() {
    if (options_.checkpoint.empty()) return true;
    reason_ = stop_.reason(strips_);
    auto const due = stop_.seconds() - saved_s_ >= options_.checkpoint_every_s;
    auto const goes_on = reason_.empty();
    if (!goes_on || strips_.any(due)) save(goes_on);
    return goes_on;
}

void Continuation::finish() {
    try {
        wait_for_save();
    } catch (thalweg::base::Error const& error) {
        if (Strips::rank() == 0) std::fprintf(stderr, "quantum-hall: %s\n", error.what());
    }
}

void Continuation::report_unfinished() const {
    report(options_,
           {{"complete", false},
            {"stopped", reason_},
            {"vectors_done", progress_.vectors},
            {"steps_done", progress_.steps},
            {"checkpoint", options_.checkpoint}},
           {});
}

} // namespace quantum_hall
