// Interim metadata of a container whose metadata are made anew each time (HDF5): what `complete` would write now is
// made in memory, over the untouched file, as for an image of the run (image.h), and is put into room that the file has
// for it. The rows are those of the last flush.
//
// States, and what moves them:
//
//     idle        prepare: the journal, up to the last BARRIER, is read, and the metadata are made for the place that
//        |        the next claim will most likely have
//        v
//     prepared    write: if the claim has another place, they are made once more for that; then they are written
//        |
//        v
//     written     publish, once they are durable: the sector that names them is written
//        |
//        v
//     idle
//
// Invariants:
//
//  1. The metadata name pages that a BARRIER covers, and lie behind them.
//  2. Nothing that an earlier sector named is written over: each room is new.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/dataset/complete/complete.h"
#include "thalweg/dataset/run/open_run.h"
#include "thalweg/storage/overlay.h"

namespace thalweg::dataset {

class InterimImage final : public format::InterimMetadata {
  public:
    // `earlier_rows`: those that the run had when it was resumed.
    InterimImage(OpenRun const& run, JournalFiles journal, std::uint64_t earlier_rows)
        : run_(run), journal_(std::move(journal)), earlier_rows_(earlier_rows), expected_bytes_(least_bytes(run.head)) {
    }

    std::uint64_t expected_bytes() const override { return expected_bytes_; }
    std::uint64_t prepare(Known const& known) override;
    bool write(storage::Storage& file, std::uint64_t offset) override;
    void publish(storage::Storage& file) override;

  private:
    static std::uint64_t least_bytes(model::RunHead const& head);
    void make(std::uint64_t offset);

    OpenRun const& run_;
    JournalFiles journal_;
    std::uint64_t earlier_rows_;
    std::uint64_t expected_bytes_;
    std::uint64_t room_bytes_ = 0;
    std::uint64_t offset_ = 0; // for which `made_` was made
    std::optional<Gathered> gathered_;
    std::optional<storage::Overlay> made_;
    std::array<std::byte, kLastWriteBytes> sector_{};
    std::vector<std::uint64_t> counts_;               // of those that are under way: rows by table, units
    std::optional<std::vector<std::uint64_t>> shown_; // of the last ones
};

// Returns what makes the file of the run readable while it is written; nothing if its container has nothing like it, or
// if several nodes write it.
std::unique_ptr<format::InterimMetadata> make_interim_metadata(OpenRun const& run, JournalFiles const& journal,
                                                               std::uint64_t earlier_rows);

} // namespace thalweg::dataset
