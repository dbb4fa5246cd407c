// What a recording has promised so far, by what its calls returned and its status said: nothing here looks into a file,
// a journal or the memory of a run.
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

// Of one producer. Who is who is in its rows.
struct Promise {
    std::uint64_t table = 0;
    std::uint32_t node = 0;                                       // on which it is
    std::uint64_t begun = 0;                                      // rows given to `append`
    std::uint64_t taken = 0;                                      // of these, where it has returned
    std::uint64_t durable = 0;                                    // of these, what a power cut may not take any more
    std::vector<std::pair<std::uint64_t, std::uint64_t>> history; // when `append` returned, and rows taken by then
    bool has_gaps = false; // a power cut came, and nobody has looked yet what it left behind the durable rows
    // Once the run was resumed: all the rows that were there, of which `taken` and `durable` count from now on.
    std::optional<std::vector<std::uint64_t>> kept;
};

// Of one try at a work unit, whose rows in all tables are its own. Several tries may have the same key.
struct UnitPromise {
    enum class State : std::uint8_t { open, committing, committed, dropped };

    std::int64_t key = 0;
    State state = State::open;
    std::map<std::uint64_t, std::uint64_t> rows; // by table
    std::uint64_t committed_ns = kNever;         // when `commit` had returned
    bool durable = false;
    std::uint64_t group = kNever; // of the tries that are committed together: the first one
    std::uint32_t node = 0;
};

// Of one of the files of a run that goes on from file to file.
struct FilePromise {
    std::string path;
    bool created = false; // its creation has returned
    bool close_begun = false;
    bool closed = false;          // its close has returned, without an error
    std::optional<Found> content; // of which it has been seen, once it was complete, that it is there
};

struct Promises {
    std::vector<FilePromise> files;             // in their order
    std::map<std::uint64_t, Promise> producers; // by who
    std::map<std::uint64_t, UnitPromise> units; // by who
    std::uint64_t next_who = 0;
    std::vector<Cuts> cuts; // of an ordered run that was resumed, as they were then: by table
    bool creation_begun = false;
    bool created = false; // create() has returned
    bool close_begun = false;
    bool closed = false;      // close() has returned, without an error
    bool sync_failed = false; // the disk has lost what it was given, and has said so to the writer only

    void append_begins(std::uint64_t who, std::uint64_t rows);
    void append_returned(std::uint64_t who, std::uint64_t rows, std::uint64_t now_ns);
    // A status that was asked for at `asked_ns` said that everything older than `lag_ns` is durable, of this node.
    void status_said(std::uint64_t asked_ns, std::uint64_t lag_ns, std::uint32_t node = 0);
    // And that all units are durable that were committed more than `age_ns` ago.
    void status_said_of_units(std::uint64_t asked_ns, std::uint64_t age_ns, std::uint32_t node = 0);
    // Only what was durable is promised any more.
    void power_was_cut();
    // The run was resumed, and this is what was in it: that is what the next lives must keep.
    void was_resumed(Found const& found, std::uint64_t now_ns);
};

enum class Crash : std::uint8_t {
    processes, // all were killed: the kernel and its memory are as they were
    power,     // what was not durable is gone, or torn
};

using Blame = std::function<void(std::string const&)>;

// Whether what a finished file has of each table is what was promised. `least` rows of each producer, from the first
// on, must be there; whole producers' rows up to the last one, unless gaps may follow them.
void check_promises(Promises const& promises, Found const& found, Crash crash, Blame const& blame);

// The same of a run of several nodes, of some of which all is there that `append` has taken, and of others what is
// durable.
using HasAll = std::function<bool(std::uint32_t node)>;
void check_promises(Promises const& promises, Found const& found, HasAll const& has_all, Blame const& blame);

// The same of one of several files, of whose other rows nothing is known.
void check_one_file(Promises const& promises, Found const& found, Blame const& blame);

} // namespace thalweg::simulator
