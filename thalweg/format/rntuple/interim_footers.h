// While a run is open: each interim footer appends one cluster group a table and new footers; the anchors then name
// those.
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/format/format.h"
#include "thalweg/format/rntuple/blob_writer.h"
#include "thalweg/format/rntuple/cluster_descriptions.h"
#include "thalweg/format/rntuple/file_parts.h"

namespace thalweg::format::rntuple {

class RNTupleInterimFooters final : public InterimFooters {
  public:
    explicit RNTupleInterimFooters(model::RunHead const& head);

    void add(std::size_t table, ClusterPages cluster) override;
    std::uint64_t pending_bytes() const override;
    void write(storage::Storage& file, std::uint64_t offset) override;
    void publish(storage::Storage& file) override;

    Skeleton const& skeleton() const { return parts_.skeleton; }
    // The same for every table, whether it has something new or not; returns the bytes written.
    std::uint64_t write_all(storage::Storage& file, std::uint64_t offset);

  private:
    struct Table {
        ClusterDescriber describer;
        std::vector<ClusterDescription> pending;
        std::uint64_t pending_bytes = 0; // of their descriptions
        std::vector<ClusterGroup> groups;
        EnvelopeLink footer;
        bool changed = false; // since its anchor was written
    };

    Blob blob_at(std::uint64_t offset, bool all, std::vector<Table>& tables) const;

    FileParts parts_;
    std::uint64_t created_s_;
    std::vector<Table> tables_;
};

} // namespace thalweg::format::rntuple
