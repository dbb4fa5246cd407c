// The places of the pages of one RNTuple, cluster by cluster, and their encodings: for copying them as they are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/format/rntuple/reading/ntuple_file.h"
#include "thalweg/format/rntuple/schema/schema.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format::rntuple {

// The pages of one column of the model in one cluster.
struct StoredPages {
    std::string encoding;          // of elements, as in codec/root_codec.h: "splitint32"; empty: it has no name
    std::uint32_t compression = 0; // ROOT's settings number
    std::span<PageDescription const> pages;
    std::uint64_t elements = 0; // in these
};

class StoredClusters {
  public:
    // Returns nothing if the file has no RNTuple at this path, or one without clusters. Throws base::DataError.
    static std::optional<StoredClusters> read(storage::Storage const& file, std::string const& path);

    std::vector<ClusterDescription> const& clusters() const { return clusters_; }
    // The columns of the model, as a reader of the file has them.
    std::vector<model::Column> const& columns() const { return columns_; }

    // Returns nothing if the cluster keeps the column in no form that is known.
    std::optional<StoredPages> pages(std::size_t cluster, std::size_t column) const;

  private:
    StoredClusters() = default;

    std::vector<ClusterDescription> clusters_;
    std::vector<model::Column> columns_;
    // The physical column and its encoding, by column, then by representation.
    struct Form {
        std::size_t physical = 0;
        std::string encoding;
    };
    std::vector<std::vector<Form>> forms_;
};

// What a user would say ("zstd-5", "plain+lz4") to have most bytes of these columns stored as they are there. Nothing
// where that cannot be said.
std::optional<std::string> usual_codec(StoredClusters const& stored, std::span<std::size_t const> columns);

// Whether pages of that form are what a column with this codec ("root:splitint32+zstd-5") has.
bool is_encoded_by(StoredPages const& stored, std::string const& codec);

} // namespace thalweg::format::rntuple
