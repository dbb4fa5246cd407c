// Rows that no producer ended as a cluster (it finished with few, or died), or that age ended before there were many,
// get pages of their own when the file is completed. Those of many producers share a cluster: one costs kilobytes of
// metadata. If the disk has no room for that, pages stay where they lie.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/format/item_reader.h"
#include "thalweg/format/rntuple/writing/blob_writer.h"
#include "thalweg/format/rntuple/writing/cluster_descriptions.h"
#include "thalweg/model/page.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format::rntuple {

// Builds clusters of one table, one after the other.
class RestCluster {
  public:
    RestCluster(storage::Storage const& file, storage::Storage const& journal, std::string const& table,
                std::vector<model::Column> const& columns, model::TableLayout const& layout, BlobWriter& writer);

    // Rows behind those that it has. `part` must stay until `write`.
    void add(model::Part const& part, model::Cluster const& cluster);
    bool is_empty() const { return pieces_.empty(); }
    // It has as many bytes as a cluster should.
    bool is_full() const { return !has_room(1); }
    bool has_room(std::uint64_t more_bytes) const { return raw_bytes_ + more_bytes <= layout_.cluster_bytes; }
    std::size_t pieces() const { return pieces_.size(); }
    // Drops what was added: it stays where it is.
    void clear();

    // Column by column, so that each lies together. The next rows begin a new cluster. If `keeps_pages`, those pages
    // of the file whose items are all of this cluster stay where they lie, and only the other items are written.
    ClusterDescription write(ClusterDescriber& describer, bool keeps_pages);

  private:
    struct AddedRows {
        model::Part const* part;
        std::vector<model::RowRange> items; // by column
    };
    class ColumnPages;

    std::vector<model::Column> const& columns_;
    model::TableLayout const& layout_;
    BlobWriter& writer_;
    std::vector<std::optional<ItemReader>> readers_; // by column
    std::vector<AddedRows> pieces_;
    std::uint64_t rows_ = 0;
    std::uint64_t raw_bytes_ = 0;
};

} // namespace thalweg::format::rntuple
