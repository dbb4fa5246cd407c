// The promises of a recording so far, by the results of its calls and its status. Nothing here reads a file, a journal
// or the memory of a run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulator/disk.h"
#include "tests/simulator/rows.h"

namespace thalweg::simulator {

// The promise to one producer. Its rows have its number (`who`).
struct Promise {
    std::uint64_t table = 0;
    std::uint32_t node = 0;    // the node on which it runs
    std::uint64_t begun = 0;   // rows given to `append`
    std::uint64_t taken = 0;   // rows for which `append` has returned
    std::uint64_t durable = 0; // rows of these that a power cut may not destroy any more
    std::vector<std::pair<std::uint64_t, std::uint64_t>> history; // when `append` returned, and rows taken by then
    bool has_gaps = false; // a power cut came, and what it left behind the durable rows is not known yet
    // After the run was resumed: all rows that were there. From then on `taken` and `durable` count these.
    std::optional<std::vector<std::uint64_t>> kept;
};

// The promise to one try at a work unit, whose rows in all tables are its own. Several tries may have the same key.
struct UnitPromise {
    enum class State : std::uint8_t { open, committing, committed, dropped };

    std::int64_t key = 0;
    State state = State::open;
    std::map<std::uint64_t, std::uint64_t> rows; // by table
    std::uint64_t committed_ns = kNever;         // when `commit` had returned
    bool durable = false;
    std::uint64_t group = kNever; // for tries that are committed together: the first one
    std::uint32_t node = 0;
};

// The promise for one file of a run that goes on from file to file.
struct FilePromise {
    std::string path;
    bool created = false; // its creation has returned
    bool close_begun = false;
    bool closed = false;          // its close has returned without an error
    std::optional<Found> content; // its content, once it was seen complete
};

struct Promises {
    std::vector<FilePromise> files;             // in their order
    std::map<std::uint64_t, Promise> producers; // by producer (`who`)
    std::map<std::uint64_t, UnitPromise> units; // by try (`who`)
    std::uint64_t next_who = 0;
    std::vector<Cuts> cuts; // of an ordered run that was resumed, as they were then: by table
    bool creation_begun = false;
    bool created = false; // create() has returned
    bool close_begun = false;
    bool closed = false;      // close() has returned without an error
    bool sync_failed = false; // the disk has lost data, and has reported that to the writer only

    void append_begins(std::uint64_t who, std::uint64_t rows);
    void append_returned(std::uint64_t who, std::uint64_t rows, std::uint64_t now_ns);
    // A status that was requested at `asked_ns` reported that everything older than `lag_ns` is durable on this node.
    void status_said(std::uint64_t asked_ns, std::uint64_t lag_ns, std::uint32_t node = 0);
    // The status also reported that all units that were committed more than `age_ns` ago are durable.
    void status_said_of_units(std::uint64_t asked_ns, std::uint64_t age_ns, std::uint32_t node = 0);
    // Keeps only the promises of what was durable.
    void power_was_cut();
    // The run was resumed, and had this content: the next lives must keep it.
    void was_resumed(Found const& found, std::uint64_t now_ns);
};

enum class Crash : std::uint8_t {
    processes, // all were killed: the kernel and its memory are unchanged
    power,     // what was not durable is missing or damaged
};

using Blame = std::function<void(std::string const&)>;

// Checks whether the tables of a finished file have what was promised: `least` rows of each producer, from its first
// one on, and no gaps before its last row, unless gaps may follow them.
void check_promises(Promises const& promises, Found const& found, Crash crash, Blame const& blame);

// Does the same for a run of several nodes. Some nodes must have everything that `append` has taken, the others what is
// durable.
using HasAll = std::function<bool(std::uint32_t node)>;
void check_promises(Promises const& promises, Found const& found, HasAll const& has_all, Blame const& blame);

// Does the same for one of several files; nothing is known of the rows in the others.
void check_one_file(Promises const& promises, Found const& found, Blame const& blame);

} // namespace thalweg::simulator
