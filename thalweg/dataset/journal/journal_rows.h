// Rows that are in no page yet, as they lie in the journal: many pieces a record, compressed together.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "thalweg/base/thread.h"
#include "thalweg/dataset/journal/journal_format.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {

struct RowsPiece {
    RowsRecord rows{};
    std::uint64_t bytes = 0;
    // The main journal ended here when they were first journaled: its records behind that are later ones.
    std::uint64_t position = 0;
};

// Returns what a piece takes of a record, and no more than its bytes: if a record is small, journaling its rows again,
// among others, takes less.
double stored_share(RowsPiece const& piece, std::uint64_t items_bytes, std::uint64_t payload_bytes);

// The payload of a record.
std::vector<std::byte> pack_rows(std::span<RowsPiece const> pieces, std::span<std::byte const> items);

struct PackedRows {
    std::vector<RowsPiece> pieces;
    std::uint64_t items_bytes = 0;
    std::uint64_t stored_offset = 0; // in the payload
    std::uint64_t stored_bytes = 0;
    bool is_frame = false;
};
// Returns none if the payload is no such record.
std::optional<PackedRows> unpack_rows(std::span<std::byte const> payload);
// Throws base::DataError.
std::vector<std::byte> unpack_items(std::span<std::byte const> stored, std::uint64_t items_bytes, bool is_frame);

// The items of all pieces that were found in the segments of a journal, one behind the other, as one storage that
// cannot be written: addresses in it stay what they are, and what it needs it keeps open. Thread-safe once all are
// added. `read` throws base::SystemError (ENODATA) if the bytes of a record are not those that were added: another
// machine that had written them and did not sync may have lost its power since then.
class JournalRows final : public storage::Storage {
  public:
    explicit JournalRows(std::string path) : path_(std::move(path)) {}

    // The items of a record, whose payload is at this offset of this segment. Returns the address of the first.
    std::uint64_t add(std::shared_ptr<storage::Storage const> segment, PackedRows const& packed, std::uint64_t offset,
                      std::span<std::byte const> payload);

    // Returns the same items without the records that hold none of these addresses (ascending). Nothing else changes: a
    // reader of this one is not disturbed if more are added to the other one.
    std::shared_ptr<JournalRows> with_only(std::span<std::uint64_t const> addresses) const;
    // Returns the segment that holds the items at this address.
    storage::Storage const* segment_of(std::uint64_t address) const { return stored_[index_of(address)].segment.get(); }

    std::string const& path() const override { return path_; }
    std::string engine() const override { return "rows of a journal"; }
    void read(std::uint64_t offset, std::span<std::byte> bytes) const override;
    void write(std::uint64_t offset, std::span<std::byte const> bytes) override;
    std::uint64_t size() const override { return size_bytes_; }
    void resize(std::uint64_t) override;
    void reserve(std::uint64_t, std::uint64_t) override;
    void sync() override {}
    std::unique_ptr<storage::WriteQueue> write_queue(std::size_t) override;

  private:
    using Items = std::shared_ptr<std::vector<std::byte> const>;
    struct Stored {
        std::uint64_t begin = 0; // address
        std::uint64_t bytes = 0;
        std::shared_ptr<storage::Storage const> segment;
        std::uint64_t offset = 0;
        std::uint64_t stored_bytes = 0;
        bool is_frame = false;
        std::uint64_t check = 0; // base::xxh3 of the stored bytes
    };
    std::size_t index_of(std::uint64_t address) const;
    Items items_of(std::size_t index) const;

    std::string path_;
    std::vector<Stored> stored_; // ascending; there may be gaps
    std::uint64_t size_bytes_ = 0;

    mutable base::Mutex mutex_; // of what was unpacked last
    mutable std::unordered_map<std::size_t, Items> unpacked_ THALWEG_GUARDED_BY(mutex_);
    mutable std::deque<std::size_t> order_ THALWEG_GUARDED_BY(mutex_);
    mutable std::uint64_t unpacked_bytes_ THALWEG_GUARDED_BY(mutex_) = 0;
};

} // namespace thalweg::dataset
