// Storage that fails on purpose, from a plan and a seed: what a run does on a bad day can be tried at every step of it.
#pragma once

#include <atomic>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include "thalweg/base/thread.h"
#include "thalweg/storage/storage.h"

namespace thalweg::storage {

inline constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

// Numbers count from 0. Errors are EIO unless said otherwise.
struct FaultPlan {
    std::uint64_t seed = 1;

    std::uint64_t fail_write = kNever;     // the write of this number
    double write_failure_chance = 0;       // of every write
    std::uint64_t fail_sync = kNever;      // the sync of this number, and as in life every later one of that file
    double short_write_chance = 0;         // the write is done in two pieces, each an operation of its own
    std::uint64_t space_bytes = kNever;    // ENOSPC for what would make the files larger than this together
    std::uint64_t refuse_reserve = kNever; // ENOSPC for the reserve of this number

    // The power goes at the operation (write, piece of a write, sync, reserve, resize) of this number: it and all that
    // follow fail. Of the bytes that were not yet synced, and of the write that was interrupted, every 512-byte sector
    // reached the disk with this chance: 0 drops all of them, 1 keeps all, anything between tears them.
    std::uint64_t power_cut_at = kNever;
    double sector_survival_chance = 0;
};

struct FaultCounts {
    std::uint64_t operations = 0;
    std::uint64_t writes = 0;
    std::uint64_t syncs = 0;
    std::uint64_t reserves = 0;
};

// One plan for all files of a run, which fill one disk and lose their power together. Thread-safe.
class Faults {
  public:
    enum class Operation : std::uint8_t { write, sync, reserve, resize };

    explicit Faults(FaultPlan const& plan = {}) : plan_(plan), random_(plan.seed) {}

    FaultPlan const& plan() const { return plan_; }
    FaultCounts counts() const;
    bool power_is_off() const;
    // From now on the files may be so large together: space was freed, or is taken by others.
    void set_space(std::uint64_t bytes);

    // Counts an operation and returns the errno with which it must fail, or 0.
    int begin(Operation operation);
    // A file becomes so much larger, or smaller: ENOSPC where the disk has no room for that, or 0.
    int grow(std::int64_t more_bytes);
    bool toss(double chance);
    // 0 for the first file, 1 for the second, ...
    std::uint64_t number_file() { return files_++; }

  private:
    FaultPlan plan_; // its space: under the mutex
    std::atomic<std::uint64_t> files_ = 0;
    mutable base::Mutex mutex_;
    std::mt19937_64 random_ THALWEG_GUARDED_BY(mutex_);
    FaultCounts counts_ THALWEG_GUARDED_BY(mutex_);
    std::int64_t used_bytes_ THALWEG_GUARDED_BY(mutex_) = 0;
    bool power_is_off_ THALWEG_GUARDED_BY(mutex_) = false;
};

// Decorates any storage. The running process sees all that it wrote; what a power cut would leave is kept beside, in
// memory.
class FaultyStorage final : public Storage {
  public:
    FaultyStorage(std::unique_ptr<Storage> inner, std::shared_ptr<Faults> faults);

    std::string const& path() const override { return inner_->path(); }
    std::string engine() const override { return "faulty " + inner_->engine(); }

    void read(std::uint64_t offset, std::span<std::byte> bytes) const override;
    void write(std::uint64_t offset, std::span<std::byte const> bytes) override;
    std::uint64_t size() const override { return inner_->size(); }
    void resize(std::uint64_t size_bytes) override;
    void reserve(std::uint64_t offset, std::uint64_t size_bytes) override;
    void sync() override;
    std::unique_ptr<WriteQueue> write_queue(std::size_t depth) override;

    // A new memory storage with what the disk would hold if the power went now; where the plan has cut it, then.
    std::unique_ptr<Storage> after_power_cut() const;

  private:
    friend class FaultyQueue;

    // What the next sync makes durable: bytes at an offset, or, without bytes, a new size of the file.
    struct Change {
        std::uint64_t offset_or_size = 0;
        std::vector<std::byte> bytes;
        bool ended = false; // a queued write is not covered by a sync before it was reaped
    };
    using Changes = std::map<std::uint64_t, Change>; // in the order in which they were made

    // The errno with which a write must fail, or 0; what of it might reach the disk is added to the changes, and
    // their keys to `keys`.
    int admit(std::uint64_t offset, std::span<std::byte const> bytes, std::vector<std::uint64_t>& keys);
    int admit_piece(std::uint64_t offset, std::span<std::byte const> bytes, std::vector<std::uint64_t>& keys);
    void end(std::vector<std::uint64_t> const& keys);
    // The same for a new size of the file.
    int admit_size(Faults::Operation operation, std::uint64_t size_bytes);
    int move_end(std::uint64_t end) THALWEG_REQUIRES(mutex_);

    std::unique_ptr<Storage> inner_;
    std::shared_ptr<Faults> faults_;
    std::uint64_t number_;
    mutable base::Mutex mutex_;
    std::unique_ptr<Storage> durable_ THALWEG_GUARDED_BY(mutex_);
    Changes changes_ THALWEG_GUARDED_BY(mutex_);
    std::uint64_t next_key_ THALWEG_GUARDED_BY(mutex_) = 0;
    std::uint64_t end_ THALWEG_GUARDED_BY(mutex_) = 0;
    int sync_error_ THALWEG_GUARDED_BY(mutex_) = 0;
};

// Gives `to` the bytes and the size of `from`.
void copy_storage(Storage const& from, Storage& to);

} // namespace thalweg::storage
