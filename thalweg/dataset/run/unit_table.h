// The keys of the work units that were committed in a run: a hash table in the run's memory which only grows. To link
// an entry into the chain of its key is one compare-and-swap, and that is the commit of the unit.
//
//   <name>u   head | buckets: the first entry of each chain
//   <name>u0, <name>u1, ...   entries; each piece of memory is twice as large as the one before it
//
// Files that continue each other (unit_series.h) have one table: each has a name of its own for it, and the memory is
// there as long as one of these is (hard links).
//
// States of an entry, and what moves it on:
//
//     nowhere      reserve(): one addition to `reserved_bytes`, within what the committer has admitted ──▶ reserved
//     reserved     only its worker sees it; it has its key and its summary. link():                    ──▶ linked
//                  or another worker has linked the same key before                                    ──▶ left alone
//     linked       the unit is committed; the entry stays as it is as long as the table does
//
// Invariants:
//
//  1. An entry belongs to the worker that reserved it until it is linked, and is never changed afterwards.
//  2. An entry is reserved only in memory that is there: the committer, which alone makes it (grow), is ahead of need.
//  3. An entry is reserved only if the disk has room for it, in the journal and in the finished file: the committer
//     admits entries as it keeps that room (admit).
//  4. No two linked entries have the same key.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/memory.h"
#include "thalweg/base/thread.h"
#include "thalweg/dataset/journal/unit_key.h"

namespace thalweg::dataset {

// The place of an entry, in units of 16 bytes, counted from 1; 0: there is none.
using UnitEntryId = std::uint32_t;

struct UnitEntry {
    std::atomic<UnitEntryId> next; // in the chain of its bucket
    std::uint32_t key_bytes;       // of a key that is text, which follows; kIntegerKey: it is an integer
    std::int64_t key;              // of a key that is text: its hash
    std::uint32_t summary_bytes;   // which follow the key
    std::uint32_t parts;           // producers that have rows of the unit
    std::uint64_t reserved;
};
static_assert(sizeof(UnitEntry) == 32);

struct UnitTableHead {
    char magic[8];
    std::uint32_t version;
    std::uint32_t buckets; // a power of two
    alignas(64) std::atomic<std::uint64_t> reserved_bytes;
    std::atomic<std::uint64_t> available_bytes;
    std::atomic<std::uint64_t> wanted_bytes; // the largest entry that ever had to wait
    std::atomic<std::uint32_t> refused;      // there is no memory for more entries
    std::atomic<std::uint64_t> admitted_bytes;
};

class UnitTable {
  public:
    // `name`: of the memory, without the final "u". Empty: private memory, for this process alone.
    static std::shared_ptr<UnitTable> create(std::string const& name, base::MemoryFallback fallback);
    // Throws base::SystemError (ENOENT) if there is none.
    static std::shared_ptr<UnitTable> attach(std::string const& name, std::string const& folder);

    // Returns a new entry, for this caller alone. Waits while the committer makes room; calls `while_waiting` then,
    // which may throw, and must if no room will come. Throws base::SystemError if there is no memory for it.
    UnitEntryId reserve(UnitKey const& key, std::string_view summary, std::function<void()> const& while_waiting);

    // Takes a key that the journal has already: it needs no more room on the disk.
    void take_again(UnitKey const& key, std::string_view summary = {});

    // Takes the key, with so many producers. Returns false if another worker has taken it before.
    bool link(UnitEntryId entry, std::uint32_t parts);

    // The key will soon be looked for: what that reads comes into the cache meanwhile.
    void prefetch(UnitKey const& key) const { __builtin_prefetch(&bucket(key.hash()), 1); }

    // The linked entry of a key.
    std::optional<UnitEntryId> find(UnitKey const& key) const;
    bool is_linked(UnitEntryId entry) const;

    // All keys that are taken, in no order.
    std::vector<UnitKey> all_keys() const;
    UnitKey key(UnitEntryId entry) const;
    std::string_view summary(UnitEntryId entry) const;
    std::uint32_t parts(UnitEntryId entry) const { return at(entry).parts; }
    std::uint64_t size_bytes(UnitEntryId entry) const;

    // The committers': makes memory ahead of need. `summary_bytes`: of an entry that is wanted now.
    void grow(std::uint64_t summary_bytes = 0);
    // Returns how many bytes of entries should be admitted, so that no worker waits.
    std::uint64_t wanted_end() const;
    void admit(std::uint64_t end);
    std::uint64_t reserved_bytes() const { return head().reserved_bytes; }
    std::uint64_t admitted_bytes() const { return head().admitted_bytes; }

    // Called in the process that created it: all memory of the table has this name, too; also what is made later.
    void add_name(std::string const& name);
    // What is made later does not have it any more.
    void drop_name(std::string const& name);

  private:
    static constexpr std::size_t kPieces = 16; // the last one has 32 GiB

    UnitTable(std::string const& name, base::MemoryFallback fallback)
        : names_{name}, name_(name), fallback_(std::move(fallback)) {}
    base::SharedMemory make(std::string const& suffix, std::size_t size_bytes) const THALWEG_REQUIRES(names_mutex_);
    bool add_piece(std::size_t index) THALWEG_REQUIRES(names_mutex_); // false: there is no memory for it
    UnitTableHead& head() const { return *reinterpret_cast<UnitTableHead*>(memory_.data()); }
    std::atomic<UnitEntryId>& bucket(std::uint64_t hash) const;
    UnitEntry& at(UnitEntryId entry) const;
    UnitEntry& whole(UnitEntryId entry) const; // with its key and its summary
    void check_steps(std::uint64_t steps) const;
    std::byte* piece(std::size_t index) const;
    UnitEntryId reserve(UnitKey const& key, std::string_view summary, std::atomic<std::uint64_t> const& end,
                        std::function<void()> const& while_waiting);
    bool has_key(UnitEntry const& entry, UnitKey const& key, std::uint64_t hash) const;
    std::uint64_t hash(UnitEntryId entry) const;
    UnitEntryId find_in_chain(UnitEntryId first, UnitKey const& key, std::uint64_t hash) const;

    base::Mutex names_mutex_; // and one thread makes memory at a time
    std::vector<std::string> names_ THALWEG_GUARDED_BY(names_mutex_);
    std::string const name_; // the first one: a process that attaches to the table knows this one alone
    base::MemoryFallback fallback_;
    base::SharedMemory memory_;
    mutable base::Mutex mutex_; // one thread maps a piece
    mutable std::array<base::SharedMemory, kPieces> pieces_ THALWEG_GUARDED_BY(mutex_);
    mutable std::array<std::atomic<std::byte*>, kPieces> mapped_{};
};

} // namespace thalweg::dataset
