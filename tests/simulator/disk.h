// A disk in memory, which several machines may share: what they see of it, and what a power cut or the death of a
// machine would leave.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/simulator/image.h"
#include "tests/simulator/random.h"

namespace thalweg::simulator {

inline constexpr std::uint64_t kNever = ~std::uint64_t{0};

// The owner of changes that a machine had not synced when it died, and that reached the disk all the same.
inline constexpr std::uint32_t kNoMachine = ~std::uint32_t{0};

// A change that no sync has made durable yet: bytes at an offset, or, without bytes, a new size of the file.
struct Change {
    std::uint64_t write = 0; // its number, if it is a queued one
    std::uint64_t offset_or_size = 0;
    std::shared_ptr<std::vector<std::byte> const> bytes;
    std::uint64_t ended = kNever; // only syncs that begin later cover it; a queued write ends when it is reaped
    std::uint32_t machine = 0;    // the machine that made it, and whose syncs cover it
    bool durable = false;         // durable, but behind a change that is not
};

struct File {
    Image cache; // what programs see
    Image durable;
    std::vector<Change> changes; // in the order in which they were made
    bool is_directory = false;
    std::optional<std::string> label = {};                    // set for a link, which leads nowhere
    std::map<std::uint32_t, std::uint64_t> failed_syncs = {}; // by machine
};

// A write that the kernel has accepted and not finished.
struct Flight {
    std::uint64_t write = 0;
    std::int32_t pid = 0;
    std::uint64_t inode = 0;
    std::uint64_t offset = 0;
    std::shared_ptr<std::vector<std::byte> const> bytes;
    std::uint64_t lands_ns = 0;
    int error = 0; // the error with which it will end
    bool orphaned = false;
    std::uint32_t machine = 0;
};

// A file gets a name, or, with inode 0, loses it.
struct NameChange {
    std::string path;
    std::uint64_t inode = 0;
    std::uint32_t machine = 0;
    bool is_seen = false; // another machine has seen it: then it survives the death of its machine
};

std::string directory_of(std::string const& path);

// This is a value: a copy keeps the state of the disk at an instant.
struct DiskState {
    std::map<std::uint64_t, File> files; // by inode
    std::map<std::string, std::uint64_t> names;
    std::map<std::string, std::uint64_t> durable_names;
    std::vector<NameChange> name_changes; // since the last syncs of their directories
    std::vector<Flight> flights;
    std::uint64_t next_inode = 10;
    std::uint64_t moment = 1;  // counts events
    std::uint32_t machine = 0; // the machine that makes the next changes
    // A machine that makes a name tells a server at once. Otherwise names that no other machine has seen may be lost
    // with it.
    bool names_outlive_machines = false;

    std::uint64_t* find(std::string const& path);
    std::uint64_t links(std::uint64_t inode) const;
    std::uint64_t used_bytes() const;
    std::uint64_t create(std::string const& path); // an empty file
    void set_name(std::string const& path, std::uint64_t inode);

    void write(std::uint64_t inode, std::uint64_t offset, std::span<std::byte const> bytes);
    void resize(std::uint64_t inode, std::uint64_t size_bytes);
    // Applies the writes that have landed by now.
    void land(std::uint64_t now_ns);
    // A queued write that has landed was reaped.
    void end_write(std::uint64_t inode, std::uint64_t write);
    // Makes durable what had ended at this moment; if the sync failed, it never becomes durable.
    void end_sync(std::uint64_t inode, std::uint64_t begin_moment, bool lost);
    // Notes that a machine has looked at a name.
    void see(std::string const& path);
    void see_all_in(std::string const& directory);
    // Makes durable the changes of names in a directory that this machine has made, among the first `changes` of all.
    void sync_names(std::size_t changes, std::string const& directory);
};

// How much of the unsynced data is on the disk after a power cut.
struct Survival {
    double share = 0.5;     // of the changes, or of their sectors
    bool sectors = true;    // each 512 bytes survive or not; otherwise each change as a whole
    bool names_any = false; // each name survives or not; otherwise all names up to one of them, in their order
};

// Removes a machine: of its unsynced data, only what survives is there for all others, too.
void lose_machine(DiskState& disk, std::uint32_t machine, Survival const& survival, Random& random);

Survival draw_survival(Random& random);

DiskState after_power_cut(DiskState const& before, Survival const& survival, Random& random);

// All processes are gone. The kernel still finishes, completely or partly, what they gave it.
DiskState after_death(DiskState const& before, std::uint64_t now_ns, Random& random);

} // namespace thalweg::simulator
