// Pages of one file into another as they are: nothing is decompressed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "thalweg/format/rntuple/blob_writer.h"
#include "thalweg/format/rntuple/descriptions.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format::rntuple {

class PageCopier {
  public:
    explicit PageCopier(BlobWriter& writer) : writer_(writer) {}

    // Gives the pages of `cluster` their places in the new file. Pages that lie at one place still do. Throws
    // base::DataError, naming the file and `what`, where one is not there or does not fit its checksum.
    void copy(storage::Storage const& from, ClusterDescription& cluster, std::string const& what);

    std::uint64_t copied_bytes() const { return copied_bytes_; }

  private:
    using Pages = std::span<PageDescription* const>;
    void copy_stretch(storage::Storage const& from, Pages pages, std::uint64_t end, std::string const& what);

    BlobWriter& writer_;
    std::uint64_t copied_bytes_ = 0;
};

} // namespace thalweg::format::rntuple
