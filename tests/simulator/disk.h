// A disk in memory, which machines may share: what they see of it, and what a power cut, or the death of one of them,
// would leave.
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

// Whose changes are that a machine had not synced when it died, and that the disk has got all the same.
inline constexpr std::uint32_t kNoMachine = ~std::uint32_t{0};

// What no sync has made durable yet: bytes at an offset, or, without bytes, a new size of the file.
struct Change {
    std::uint64_t write = 0; // its number, for a queued one
    std::uint64_t offset_or_size = 0;
    std::shared_ptr<std::vector<std::byte> const> bytes;
    std::uint64_t ended = kNever; // only syncs that begin later cover it: a queued write ends when it is reaped
    std::uint32_t machine = 0;    // that made it, and whose syncs cover it
    bool durable = false;         // and behind one that is not
};

struct File {
    Image cache; // what programs see
    Image durable;
    std::vector<Change> changes; // in the order in which they were made
    bool is_directory = false;
    std::optional<std::string> label = {};                    // a link, which leads nowhere
    std::map<std::uint32_t, std::uint64_t> failed_syncs = {}; // by machine
};

// A write that was given to the kernel, which has not ended it.
struct Flight {
    std::uint64_t write = 0;
    std::int32_t pid = 0;
    std::uint64_t inode = 0;
    std::uint64_t offset = 0;
    std::shared_ptr<std::vector<std::byte> const> bytes;
    std::uint64_t lands_ns = 0;
    int error = 0; // with which it will end
    bool orphaned = false;
    std::uint32_t machine = 0;
};

// A file gets a name, or, with inode 0, loses it.
struct NameChange {
    std::string path;
    std::uint64_t inode = 0;
    std::uint32_t machine = 0;
    bool is_seen = false; // by another machine: then it stays when that one dies
};

std::string directory_of(std::string const& path);

// A value: to copy it is to keep the state of the disk at an instant.
struct DiskState {
    std::map<std::uint64_t, File> files; // by inode
    std::map<std::string, std::uint64_t> names;
    std::map<std::string, std::uint64_t> durable_names;
    std::vector<NameChange> name_changes; // since the last syncs of their directories
    std::vector<Flight> flights;
    std::uint64_t next_inode = 10;
    std::uint64_t moment = 1;  // counts what happens
    std::uint32_t machine = 0; // that makes the next changes
    // Whoever makes a name tells a server at once. Else names that no other machine has seen may be lost with theirs.
    bool names_outlive_machines = false;

    std::uint64_t* find(std::string const& path);
    std::uint64_t links(std::uint64_t inode) const;
    std::uint64_t used_bytes() const;
    std::uint64_t create(std::string const& path); // an empty file
    void set_name(std::string const& path, std::uint64_t inode);

    void write(std::uint64_t inode, std::uint64_t offset, std::span<std::byte const> bytes);
    void resize(std::uint64_t inode, std::uint64_t size_bytes);
    // What has landed by now is in the file.
    void land(std::uint64_t now_ns);
    // A queued write that has landed was reaped.
    void end_write(std::uint64_t inode, std::uint64_t write);
    // What had ended at this moment is durable now; or, where the sync failed, it will never be.
    void end_sync(std::uint64_t inode, std::uint64_t begin_moment, bool lost);
    // A machine has looked at a name.
    void see(std::string const& path);
    void see_all_in(std::string const& directory);
    // Changes of names in a directory are durable that this machine has made: among the first so many of all.
    void sync_names(std::size_t changes, std::string const& directory);
};

// How much of what was not synced is on the disk after a power cut.
struct Survival {
    double share = 0.5;     // of the changes, or of their sectors
    bool sectors = true;    // every 512 bytes for themselves; else each change whole or not at all
    bool names_any = false; // names for themselves; else up to one of them, in their order
};

// A machine is gone: what it had not synced is what survives of it, for all others, too.
void lose_machine(DiskState& disk, std::uint32_t machine, Survival const& survival, Random& random);

Survival draw_survival(Random& random);

DiskState after_power_cut(DiskState const& before, Survival const& survival, Random& random);

// All processes are gone: the kernel still ends what they gave it, or parts of it.
DiskState after_death(DiskState const& before, std::uint64_t now_ns, Random& random);

} // namespace thalweg::simulator
