// The ledger: the shared state of one open run. One segment of shared memory (private memory if the run is written by
// one process only) with the claim counter and a slot for each producer.
//
// States of the run, and what moves it on:
//
//     open         Writer::close, once the producers that are there have ended             ──▶ closing
//     closing      complete_run                                                            ──▶ closed
//                  a producer that came in the last moment does not end in time            ──▶ open
//     open         Writer::abandon                                                         ──▶ abandoned
//     any of them  Ledger::fail: the committer, or the close, cannot go on                 ──▶ failed
//
// Beside that, claims are taken or, while the disk has no room, refused (commit/space.h).
//
// States of a slot. Only a producer's process moves it up to `finished`, and only the committer from there on:
//
//     free         Ledger::take_slot, with a new number                                    ──▶ attaching
//     attaching    Producer::start, once its staging is formatted                          ──▶ active
//                  Producer::start, on an error; ProducerList::admit, of a dead process    ──▶ settled
//     active       Producer::give_up_slot: all it had is announced or lies in its staging  ──▶ finished
//     finished,    ProducerList::settle: the committer has journaled the rest. (An active  ──▶ settled
//       or active    one is settled if its process is dead.)
//     settled      Ledger::free_slot                                                       ──▶ free
//
// Each of these is one compare-exchange (Slot::change): a process that finds another state than it expects has lost the
// slot, and says so.
//
// Invariants:
//
//  1. A byte of the file has one owner from its claim on: `claimed` only grows, by claims that end at or below
//     `claimable`. The committer raises `claimable` only after the blocks below it are allocated.
//  2. A producer has a number, which no other producer of the run ever has. It lives in a slot, which another producer
//     may have once the committer has settled it: only the committer frees a slot.
//  3. A process that takes a slot looks at the run's state afterwards, and the process that closes the run sets that
//     state before it looks at the slots: so one of the two sees the other.
//  4. Whatever a producer has published lies in its own segment (staging.h) until it is written and announced, so that
//     it outlives the producer.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "thalweg/base/memory.h"
#include "thalweg/base/process.h"
#include "thalweg/base/thread.h"
#include "thalweg/dataset/journal/journal_preamble.h"
#include "thalweg/dataset/run/unit_series.h"
#include "thalweg/dataset/run/unit_table.h"
#include "thalweg/tuning/words.h"

namespace thalweg::dataset {

enum class LedgerState : std::uint32_t { open, closing, closed, failed, abandoned };

enum class SlotState : std::uint32_t {
    free,
    attaching, // owned by a producer that has no staging yet
    active,
    finished, // the producer is done: everything it had is announced or lies in its staging
    settled,  // the committer has journaled the rest, or there never was any: it will free the slot
};

struct Slot {
    std::atomic<std::int32_t> taker; // pid: the process that sets it, while it is 0, has the slot; the next two follow
    std::atomic<SlotState> state;
    std::uint32_t table;
    std::uint32_t number; // of the producer
    // Counts the stagings that were made for this slot: a process that has mapped one knows whether it is the present
    // one.
    std::atomic<std::uint32_t> staging_generation;
    std::atomic<std::uint32_t> staging_table;
    std::atomic<std::uint64_t> staging_bytes;      // of addresses; 0: it has none
    std::atomic<std::uint64_t> staging_kept_bytes; // of memory, which it keeps when its producer has ended
    base::ProcessId producer;

    // The one way to change its state. Returns false if another process has changed it meanwhile: then the slot is that
    // process's.
    bool change(SlotState from, SlotState to) { return state.compare_exchange_strong(from, to); }
};

struct LedgerHead {
    char magic[8];
    std::uint32_t version;
    std::uint32_t slots;
    base::ProcessId committer;
    char run_id[40];
    char boot_id[40];
    char host[64];
    char path[1024];
    std::uint64_t device;        // st_dev of the directory of `path`
    std::uint64_t pid_namespace; // in which the pids here mean something
    std::uint32_t node;          // of the run's `nodes`, from 0
    std::uint32_t nodes;
    tuning::Words knobs;      // how every process writes the run, as its creator wants it
    char memory_folder[1024]; // where producers' memory goes when /dev/shm has no room; empty: nowhere
    char next_ledger[1280];   // set before `has_next`: the ledger of the file that continues this one
    char failure[1024];       // set before `failed`
    std::atomic<std::uint32_t> has_next;
    std::atomic<std::int32_t> no_room_code; // an errno: why claims are refused at present. 0: they are not
    std::atomic<LedgerState> state;
    std::atomic<std::uint64_t> heartbeat_ns;
    // A cluster that was begun before that is old: its producer ends it, so that readers of the open file see its rows.
    // 0: none is.
    std::atomic<std::uint64_t> old_before_ns;
    std::atomic<std::uint64_t> shm_segments;    // that were ever made, in /dev/shm
    std::atomic<std::uint64_t> folder_segments; // and in the folder
    char units_name[64];                        // of the table of work units; set before `units_ready`
    std::atomic<std::uint32_t> units_wanted;
    std::atomic<std::uint32_t> units_ready;
    std::atomic<std::uint64_t> units_committed; // in this file: the table may have the keys of others, too
    std::atomic<std::uint32_t> next_producer;   // its number
    std::atomic<std::uint32_t> slots_used;      // no slot behind these was ever taken
    alignas(64) std::atomic<std::uint64_t> claimed;
    alignas(64) std::atomic<std::uint64_t> claimable;
    std::atomic<std::uint64_t> wanted;  // the largest claim that ever had to wait
    std::atomic<std::uint64_t> waiting; // the same, since the committer looked last
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<SlotState>::is_always_lock_free);

class Ledger {
  public:
    static constexpr auto kNoLimit = std::numeric_limits<std::uint64_t>::max();

    // Creates a ledger. `shared`: reachable from other processes by its name, in /dev/shm or in the folder that
    // `fallback` names.
    // `series`: of the files that this one continues; its memory goes to the same folder as theirs.
    static std::unique_ptr<Ledger> create(std::string const& run_id, std::string const& path, bool shared,
                                          std::uint64_t first_offset, base::MemoryFallback const& fallback = {},
                                          std::shared_ptr<UnitSeries> series = nullptr, NodeOfRun const& node = {});
    // Opens the ledger of another process. `name`: as name() gives it, with a folder if it is not in /dev/shm. Throws
    // base::UsageError if there is no such ledger.
    static std::unique_ptr<Ledger> attach(std::string const& name);
    ~Ledger();

    LedgerHead& head() const { return *reinterpret_cast<LedgerHead*>(memory_.data()); }
    Slot& slot(std::size_t index) const { return slots_[index]; }
    std::size_t slots() const { return head().slots; }
    std::string const& name() const { return memory_.name(); }
    NodeOfRun node() const { return {head().node, head().nodes}; }
    bool is_shared() const { return !name().empty(); }
    // Returns where the memory of this run and of its producers lies, for reports: "/dev/shm", or another folder and
    // why.
    std::string memory_place() const;

    // Returns a free slot, now `attaching` and owned by this process, for a producer with a new number. Prefers slots
    // with a staging of the same table, and then slots without one, as long as the stagings that ended producers have
    // left take no more than `most_left_bytes`. Returns nothing if all slots have producers at present, or if so much
    // is left by producers whose slots the committer has yet to free.
    std::optional<std::size_t> take_slot(std::size_t table, std::uint64_t most_left_bytes = kNoLimit);
    // The committer's: the slot may be taken again, with the staging that it has.
    void free_slot(std::size_t slot);
    std::size_t slots_used() const { return std::min<std::size_t>(head().slots_used.load(), slots()); }
    // The process that took the slot is dead. Throws base::SystemError if that cannot be told.
    bool is_orphaned(std::size_t slot) const;
    // A living producer may still publish rows. One of which nothing can be told counts as living.
    bool has_producers() const;

    // The memory of the producers in a slot, one after the other, in /dev/shm or in the folder: made by the process
    // that has the slot, with the bytes that it wants, unless the slot has such memory for this table already. It goes
    // with the run. A mapping is kept for the next call in this process.
    std::shared_ptr<base::SharedMemory> make_staging(std::size_t slot, base::MemorySize const& size);
    std::shared_ptr<base::SharedMemory> open_staging(std::size_t slot);
    void remove_staging(std::size_t slot) const;

    // The table of work units, which the committer makes when the first one is wanted. Waits for it; calls
    // `while_waiting` (which may throw) then.
    UnitTable& units(std::function<void()> const& while_waiting);
    // Returns nothing if no process ever wanted one.
    UnitTable* units_if_any();
    // The committer's: makes the table.
    void make_units();
    // The files that share the table, in the ledger's creator; nothing in a process that has attached to it.
    std::shared_ptr<UnitSeries> const& series() const { return series_; }
    // Before the run's memory is removed, by its creator.
    void leave_series();
    // For the series: under which name the table is this file's, and that it is there.
    std::string units_name() const;
    void set_units(std::shared_ptr<UnitTable> table);

    // Claims an extent of the file and returns its offset. Waits while the committer allocates more; calls
    // `while_waiting` (which may throw) then. Returns nothing if the disk has no room for it at present. Throws
    // base::SystemError if the committer failed or died.
    std::optional<std::uint64_t> claim(std::uint64_t size_bytes, std::function<void()> const& while_waiting);

    // The same for the committer, which cannot wait for itself: nothing if so much is not allocated yet.
    std::optional<std::uint64_t> try_claim(std::uint64_t size_bytes);

    // Throws base::SystemError if the run has failed, or if its committer is dead or gone. Cheap: looks at the process
    // table only if the heart has not beaten for a while.
    void check_alive() const;
    // The same, and throws base::SystemError (ENOSPC, EDQUOT, EFBIG) while the disk has no more room.
    void check_room() const;
    bool has_room() const { return head().no_room_code.load(std::memory_order_relaxed) == 0; }
    // A sentence that says so; empty if the disk has room.
    std::string room_problem() const;

    void fail(std::string const& message);
    // The committer refuses claims with this errno, and allows them again once the disk has room.
    void refuse_claims(int errno_code);
    void allow_claims();
    void beat();

  private:
    bool may_be_at_work(std::size_t slot) const;
    Ledger() = default;
    std::string staging_name(std::size_t slot) const; // in /dev/shm
    bool is_left(std::size_t slot) const;             // its producer has ended, and its staging is still there
    bool is_much_left(std::uint64_t most_left_bytes) const;

    base::SharedMemory memory_;
    Slot* slots_ = nullptr;
    struct Mapped {
        std::uint32_t generation = 0;
        std::shared_ptr<base::SharedMemory> memory;
    };
    std::shared_ptr<base::SharedMemory> mapped(std::size_t slot);
    void keep_mapped(std::size_t slot, std::shared_ptr<base::SharedMemory> memory);
    void drop_stale_mappings();

    base::Mutex units_mutex_;
    std::shared_ptr<UnitTable> units_ THALWEG_GUARDED_BY(units_mutex_);
    std::atomic<UnitTable*> known_units_ = nullptr; // the same, once it is there: every unit asks for it
    std::shared_ptr<UnitSeries> series_;
    std::uint64_t fork_generation_ = 0; // of the creator
    base::Mutex mapped_mutex_;
    std::map<std::size_t, Mapped>
        mapped_ THALWEG_GUARDED_BY(mapped_mutex_); // by slot; of a ledger that is not shared, the only reference
};

// The common beginning of the names of all segments.
inline constexpr char const* kSegmentPrefix = "thalweg-";

// Nodes that share a machine have memory of their own.
std::string ledger_name(std::string const& run_id, std::uint32_t node = 0);

// A ledger and the memory of its producers, in /dev/shm and in the folder that the ledger names.
void remove_segments(std::string const& ledger);

} // namespace thalweg::dataset
