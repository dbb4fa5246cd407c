// Describes the clusters of one table when its file is completed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/base/units.h"
#include "thalweg/format/format.h"
#include "thalweg/format/rntuple/writing/blob_writer.h"
#include "thalweg/format/rntuple/writing/cluster_descriptions.h"
#include "thalweg/format/rntuple/writing/rest_cluster.h"

namespace thalweg::format::rntuple {

// What may be joined, of all tables together, so that it takes a second or so however long the run was: the first
// clusters, which are the smallest.
struct Joining {
    std::uint64_t room_bytes = 256 * base::kMiB; // raw
    // Rows that no producer ended as a cluster are one cluster for each producer, and their pages stay where they lie.
    bool keeps_pages = false;
    Completed done{};
};

// Clusters that their producers ended because they were large enough lie in the file as they are to stay. Neighbours
// that age ended are encoded again, as one cluster of no more than the size of those (docs/decisions/0046).
class TableCompleter {
  public:
    TableCompleter(storage::Storage const& file, storage::Storage const& journal, model::RunHead const& head,
                   std::size_t table, BlobWriter& writer, Joining& joining);

    PageList list(std::uint64_t header_checksum, std::vector<model::Part> const& parts);

  private:
    using Pages = std::vector<std::span<model::Page const>>; // by column

    static Pages pages_of(model::Part const& part, model::Cluster const& cluster);
    bool may_be_joined(model::Cluster const& cluster, std::uint64_t raw_bytes) const;
    std::uint64_t raw_bytes_of(Pages const& pages) const;
    void end_rest(PageList& list);

    // In the rest, and whole where it lies.
    struct Whole {
        std::uint64_t rows;
        Pages pages;
    };

    std::vector<model::Column> const& columns_;
    ClusterDescriber describer_;
    RestCluster rest_;
    std::vector<Whole> whole_;
    std::uint64_t whole_bytes_ = 0; // raw
    Joining& joining_;
};

} // namespace thalweg::format::rntuple
