// A file of which what was read is kept: metadata are many small things, of which the same ones are asked for again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "thalweg/storage/read_only.h"

namespace thalweg::format::hdf5 {

// Missing bytes are read in pieces. The first piece is the head of the file, which every caller looks at. Then pieces
// are small, because one column is found with a few of them; the more is read, the larger they become, so that reading
// all metadata takes few requests. Not thread-safe.
class KeptReads final : public storage::ReadOnly {
  public:
    explicit KeptReads(storage::Storage const& file) : file_(file), size_bytes_(file.size()) {}

    std::string const& path() const override { return file_.path(); }
    std::string engine() const override { return file_.engine(); }
    // As it was when this was made.
    std::uint64_t size() const override { return size_bytes_; }
    void read(std::uint64_t offset, std::span<std::byte> bytes) const override;

  private:
    using Pieces = std::map<std::uint64_t, std::vector<std::byte>>;

    Pieces::const_iterator piece_with(std::uint64_t offset, std::uint64_t wanted_bytes) const;
    std::uint64_t piece_bytes() const;

    storage::Storage const& file_;
    std::uint64_t size_bytes_;
    mutable Pieces pieces_; // by offset; none overlaps another
    mutable std::uint64_t kept_bytes_ = 0;
    mutable std::uint64_t read_bytes_ = 0;
};

} // namespace thalweg::format::hdf5
