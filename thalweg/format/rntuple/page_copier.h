// Pages of one file into another as they are: nothing is decompressed.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thalweg/base/memory.h"
#include "thalweg/format/rntuple/envelopes/descriptions.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format::rntuple {

// Reads into the memory from which it writes, several keys at once: past the page cache, where `out` can do that. Not
// thread-safe.
class PageCopier {
  public:
    // Pages lie in keys from `offset` on, a multiple of base::kBlockBytes.
    PageCopier(storage::Storage& out, std::uint64_t offset, std::uint64_t seconds);
    ~PageCopier();

    // Gives the pages of `cluster` their places in the new file. Pages that lie at one place still do. Throws
    // base::DataError, naming the file and `what`, where one is not there or does not fit its checksum.
    void copy(storage::Storage const& from, ClusterDescription& cluster, std::string const& what);

    // Everything is written afterwards; returns the end of the last key.
    std::uint64_t finish();

    std::uint64_t copied_bytes() const { return copied_bytes_; }

  private:
    using Pages = std::span<PageDescription* const>;
    struct Room {
        std::uint64_t offset;
        std::span<std::byte> bytes;
    };
    void copy_stretch(storage::Storage const& from, Pages pages, std::uint64_t end, std::string const& what);
    Room make_room(std::size_t size_bytes);
    void flush();
    void reap();

    storage::Storage& out_;
    std::uint64_t offset_;
    std::uint64_t seconds_;
    std::deque<base::AlignedBuffer> buffers_; // outlive the queue
    std::vector<std::size_t> free_;           // of these
    std::size_t gathering_ = 0;
    std::size_t filled_bytes_ = 0; // of that one; 0: none is
    std::unique_ptr<storage::WriteQueue> queue_;
    std::uint64_t copied_bytes_ = 0;
};

} // namespace thalweg::format::rntuple
