// A file that a Python object or a server reads for us, which may be far away. Each request is
// a round trip, so what is known to be wanted is asked for together.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/thread.h"
#include "thalweg/storage/read_only.h"

namespace thalweg::storage {

struct ByteRange {
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
};

// Thread-safe, where `read_ranges` is.
class FarFile final : public ReadOnly {
  public:
    // Gives the bytes of all ranges, in their order, and throws what it likes. Ranges lie within the file.
    using ReadRanges = std::function<std::vector<std::string>(std::vector<ByteRange> const&)>;

    FarFile(std::string name, std::uint64_t size_bytes, ReadRanges read_ranges)
        : name_(std::move(name)), size_bytes_(size_bytes), read_ranges_(std::move(read_ranges)) {}

    std::string const& path() const override { return name_; }
    std::string engine() const override { return "far away"; }
    std::uint64_t size() const override { return size_bytes_; }
    // Reads from what is fetched, or by a request of its own.
    void read(std::uint64_t offset, std::span<std::byte> bytes) const override;

    // Asks for all of these at once; neighbours come as one range. They are kept as long as the result lives. Ranges
    // that do not lie in the file are left out: a read of them is an error.
    std::shared_ptr<void const> fetch(std::vector<ByteRange> ranges) const;
    std::shared_ptr<void const> expect_reads(std::uint64_t offset, std::uint64_t size_bytes) const override {
        return fetch({{offset, size_bytes}});
    }

  private:
    using Bytes = std::shared_ptr<std::string const>;

    // Throws base::SystemError if the answer has too few or too many bytes.
    std::vector<std::string> ask(std::vector<ByteRange> const& ranges) const;
    Bytes fetched(std::uint64_t offset, std::uint64_t size_bytes, std::uint64_t& begin) const;

    std::string name_;
    std::uint64_t size_bytes_;
    ReadRanges read_ranges_;
    mutable base::Mutex mutex_;
    // Fetched ranges that a caller still keeps, by offset.
    mutable std::multimap<std::uint64_t, std::weak_ptr<std::string const>> fetched_ THALWEG_GUARDED_BY(mutex_);
};

} // namespace thalweg::storage
