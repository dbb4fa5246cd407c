// Copies clusters of an input into an output. Pages of columns that both have are copied as they are if they are
// encoded as the output's are, and decoded and encoded again if not.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/base/scratch.h"
#include "thalweg/dataset/append/producer.h"
#include "thalweg/dataset/append/row_slices.h"
#include "thalweg/dataset/append/table_encoder.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/format/rntuple/reading/stored_clusters.h"

namespace thalweg::derive {

// A table of an output, and the columns of it that come from an input as they are.
struct KeptTable {
    dataset::Reader const& input;
    std::size_t input_table = 0;
    std::vector<model::Column> columns; // of the output
    model::TableLayout layout;
    // By column of the output: that of the input; none: it is computed.
    std::vector<std::optional<std::size_t>> from;
};

struct CopiedPages {
    std::uint64_t pages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t rows = 0; // of the clusters with these
};

// Not thread-safe.
class ClusterCopier {
  public:
    // `stored`: of the input.
    ClusterCopier(KeptTable const& table, std::shared_ptr<format::rntuple::StoredClusters const> stored);

    std::vector<format::rntuple::ClusterDescription> const& clusters() const { return stored_->clusters(); }

    // Counts bytes of the kept columns in a cluster: as they are stored, and those of them that can be copied.
    struct Worth {
        std::uint64_t stored_bytes = 0;
        std::uint64_t copied_bytes = 0;
        std::uint64_t raw_bytes = 0;
        std::uint64_t columns = 0;
    };
    Worth worth(std::size_t cluster) const;

    // Appends the whole cluster. `computed` has the values of the other columns. Throws base::DataError that
    // names file, column and rows if a page does not fit its checksum, or if lists do not fit what is in them.
    void copy(std::size_t cluster, dataset::RowSlices& computed, dataset::Producer& to);

    CopiedPages const& copied() const { return copied_; }

  private:
    // One column of the output in a cluster, as it is known before its pages are given.
    struct ClusterColumn {
        std::uint64_t items = 0;
        std::optional<format::rntuple::StoredPages> stored; // to be copied
        std::vector<std::uint64_t> sums;                    // of lengths in front of its pages, if they are several
        std::span<std::byte const> raw;                     // to be encoded
        std::vector<std::byte> decoded;
        std::vector<std::uint64_t> lengths;
    };
    struct Wanted {
        format::rntuple::PageDescription const* page = nullptr;
        dataset::Producer::EncodedPage as;
    };
    using TakePages = dataset::Producer::TakePages;

    bool can_copy(format::rntuple::StoredPages const& stored, std::size_t column) const;
    std::vector<ClusterColumn> parts_of(std::size_t cluster, dataset::RowSlices& computed);
    void read_kept(std::size_t cluster, std::size_t column, ClusterColumn& part);
    void find_sums(std::size_t cluster, std::size_t column, ClusterColumn& part);
    void read_items(std::size_t cluster, std::size_t from, std::uint64_t items, std::span<std::byte> out);
    std::uint64_t stored_elements(std::size_t cluster, std::size_t lengths) const;
    std::uint64_t first_item(std::size_t cluster, std::size_t column) const;
    void give_encoded(std::size_t column, ClusterColumn const& part, TakePages const& take);
    std::vector<Wanted> wanted_pages(std::vector<ClusterColumn> const& parts) const;
    void give_stored(std::size_t cluster, std::vector<Wanted> const& wanted, TakePages const& take);
    void give_run(std::size_t cluster, std::span<Wanted const> run, TakePages const& take);
    void check_places(std::size_t cluster, std::vector<Wanted> const& wanted) const;
    [[noreturn]] void fail(std::size_t cluster, Wanted const& wanted, std::string const& why) const;

    KeptTable const& table_;
    std::shared_ptr<format::rntuple::StoredClusters const> stored_;
    dataset::TableEncoder encoder_;
    base::Scratch read_, encoded_, lengths_;
    std::vector<dataset::Producer::EncodedPage> run_;
    CopiedPages copied_;
};

} // namespace thalweg::derive
