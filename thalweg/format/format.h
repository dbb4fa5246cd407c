// The seam of the formats: page map <-> file metadata.
#pragma once

#include <cstdint>

#include "thalweg/model/run.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format {

class Format {
  public:
    virtual ~Format() = default;

    // Writes what must lie in front of the first page and returns the offset from which extents may be claimed.
    virtual std::uint64_t begin(storage::Storage& file, model::RunHead const& head) const = 0;

    // Writes all metadata (and the pages that are still rows in the journal) behind `facts.end_offset`, makes it
    // durable, and only then makes the file complete by its last write, durable too. Can be repeated on the same file
    // after any interruption, with the same result. Returns the size of the finished file.
    virtual std::uint64_t complete(storage::Storage& file, storage::Storage const& journal, model::RunHead const& head,
                                   model::RunFacts const& facts) const = 0;

    // Reads the metadata of a complete file. Throws base::DataError for anything else.
    virtual model::RunMap load(storage::Storage const& file) const = 0;

    // Room, in bytes, that `complete` may need for this many pages, `lengths_pages` of them of lengths columns: kept
    // free on the disk while the run is open.
    virtual std::uint64_t metadata_bound_bytes(model::RunHead const& head, std::uint64_t pages,
                                               std::uint64_t lengths_pages) const = 0;
};

} // namespace thalweg::format
