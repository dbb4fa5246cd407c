// A recording from its creation to its end, with everybody who has to do with it, as one seed has it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulator/promises.h"
#include "tests/simulator/world.h"
#include "thalweg/dataset/writer.h"

namespace thalweg::simulator {

enum class Container : std::uint8_t { hdf5, rntuple };

// What is drawn from the seed before anything happens.
struct Scenario {
    std::string path;
    model::Schema schema;
    dataset::CreateOptions options;
    Weather weather;
    std::uint64_t workers = 1; // processes that append
    std::uint64_t appends = 1; // of each producer, at most
    std::uint64_t rows = 1;    // of each append, at most
    double share_of_units = 0; // of the processes
    std::uint64_t keys = 1;    // of the units
    std::uint64_t readers = 0;
    std::uint64_t copiers = 0; // who recover a copy
    std::uint64_t kills = 0;
    std::uint64_t turns_to_kill = 1; // about
    std::uint64_t turns_to_snapshot = 1;
    std::uint64_t rotations = 0; // of each life
    std::uint64_t turns_to_rotate = 1;
    enum class End : std::uint8_t { close, abandon, forget } end = End::close;
    std::uint64_t lives = 1;         // after each but the last all stops, and somebody resumes the run
    std::uint64_t turns_of_life = 1; // about, at most
    // Where the run is ordered by key: it has but groups of units.
    std::int64_t first_group = 0;
    std::uint64_t groups() const { return keys / options.keys_per_group; }
    std::int64_t first_key() const { return first_group * static_cast<std::int64_t>(options.keys_per_group); }
};

Scenario draw_scenario(Container container, Random& random);
// Of how many lives: from a seed of its own, so that a history with one life is the same whatever is drawn here.
void draw_lives(Scenario& scenario, Random& random);
// Whether, and when, a thread does not go on until another process has died: from a seed of its own, too.
void draw_freezes(Scenario& scenario, Random& random);
// Whether the run goes on in other files, and when: the same.
void draw_rotations(Scenario& scenario, Random& random);
// Whether somebody copies the open run: the same.
void draw_copiers(Scenario& scenario, Random& random);
// Whether rows of units are journaled, and whether the run is in the order of its keys, which only an RNTuple can be:
// from a seed of its own, too.
void draw_order(Scenario& scenario, Container container, Random& random);

// All that is left when everything stops at an instant, and what had been promised by then.
struct Snapshot {
    DiskState disk;
    MemoryState memory;
    Promises promises;
    std::uint64_t now_ns = 0;
    std::string boot;
    std::uint64_t life = 0; // of the history
};

// What is there for whoever comes next, once everything has stopped.
Snapshot stopped(Snapshot const& snapshot, Crash crash, Random& random);

struct HistoryResult {
    std::vector<Snapshot> snapshots; // the last one: of the end
    std::vector<std::string> faults;
    std::uint64_t trace = 0;
    std::uint64_t turns = 0;
    std::uint64_t resumed = 0; // how often
    std::uint64_t files = 0;   // that the run had
    std::uint64_t copies = 0;  // that were recovered while it was open
    bool ordered = false;      // by key
};

// `lying_file`: what a disk does that breaks its word (Weather).
HistoryResult run_history(Workshop& workshop, Container container, std::uint64_t seed, std::size_t most_snapshots,
                          std::string const& lying_file = "");

} // namespace thalweg::simulator
