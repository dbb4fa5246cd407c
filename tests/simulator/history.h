// A recording from its creation to its end, with all processes that take part, as one seed determines it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulator/promises.h"
#include "tests/simulator/world.h"
#include "thalweg/dataset/writer.h"

namespace thalweg::simulator {

enum class Container : std::uint8_t { hdf5, rntuple };

// The parameters of a history, which are drawn from the seed before anything happens.
struct Scenario {
    std::string path;
    model::Schema schema;
    dataset::CreateOptions options;
    Weather weather;
    std::uint64_t workers = 1; // processes that append
    std::uint64_t appends = 1; // limit for each producer
    std::uint64_t rows = 1;    // limit for each append
    double share_of_units = 0; // share of the processes
    std::uint64_t keys = 1;    // keys of the units
    std::uint64_t readers = 0;
    std::uint64_t copiers = 0; // processes that recover a copy
    std::uint64_t kills = 0;
    std::uint64_t turns_to_kill = 1; // approximately
    std::uint64_t turns_to_snapshot = 1;
    std::uint64_t rotations = 0; // per life
    std::uint64_t turns_to_rotate = 1;
    enum class End : std::uint8_t { close, abandon, forget } end = End::close;
    std::uint64_t lives = 1;         // after each life but the last one everything stops, and the run is resumed
    std::uint64_t turns_of_life = 1; // upper limit, approximately
    // If the run is ordered by key, it has only groups of units.
    std::int64_t first_group = 0;
    std::uint64_t groups() const { return keys / options.keys_per_group; }
    std::int64_t first_key() const { return first_group * static_cast<std::int64_t>(options.keys_per_group); }
};

Scenario draw_scenario(Container container, Random& random);
// Draws the number of lives from a seed of its own, so that a history with one life does not change.
void draw_lives(Scenario& scenario, Random& random);
// Draws, from a seed of its own, whether and when a full disk has room again.
void draw_full_disk(Scenario& scenario, Random& random);
// Draws, from a seed of its own, whether and when a thread pauses until another process has died.
void draw_freezes(Scenario& scenario, Random& random);
// Draws, from a seed of its own, whether and when the run goes on in other files.
void draw_rotations(Scenario& scenario, Random& random);
// Draws, from a seed of its own, whether the open run is copied.
void draw_copiers(Scenario& scenario, Random& random);
void draw_questions(Weather& weather, Random& random);
// How often a run is shown to other programs while it is open.
void draw_interim(Scenario& scenario, Random& random);
// Draws, from a seed of its own, whether rows of units are journaled, and whether the run is ordered by key, which is
// possible for an RNTuple only.
void draw_order(Scenario& scenario, Container container, Random& random);

// Everything that is left if all stops at an instant, and what had been promised by then.
struct Snapshot {
    DiskState disk;
    MemoryState memory;
    Promises promises;
    std::uint64_t now_ns = 0;
    std::string boot;
    std::uint64_t life = 0; // number of the life in the history
};

// Returns what the next process finds after everything has stopped.
Snapshot stopped(Snapshot const& snapshot, Crash crash, Random& random);

struct HistoryResult {
    std::vector<Snapshot> snapshots; // the last one is that of the end
    std::vector<std::string> faults;
    std::uint64_t trace = 0;
    std::uint64_t turns = 0;
    std::uint64_t resumed = 0; // how often
    std::uint64_t files = 0;   // files of the run
    std::uint64_t copies = 0;  // copies that were recovered while the run was open
    bool ordered = false;      // by key
};

// `lying_file` names the file for which a disk breaks its promise (Weather).
HistoryResult run_history(Workshop& workshop, Container container, std::uint64_t seed, std::size_t most_snapshots,
                          std::string const& lying_file = "");

} // namespace thalweg::simulator
