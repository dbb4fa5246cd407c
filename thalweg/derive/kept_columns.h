// Columns of an input that an output keeps as they are, beside those that are computed: rows of both, appended.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/derive/cluster_copier.h"
#include "thalweg/model/run.h"

namespace thalweg::derive {

// Says whether pages of whole clusters are copied without being decoded, if that is possible.
enum class CopyPages : std::uint8_t {
    never,
    where_worth, // but for clusters so small, or so many columns that must be encoded anew, that the output suffers
    always,
};

// Not thread-safe.
class KeptColumns {
  public:
    // The fields `kept` of a table of `input`, which outlives this, are fields of table `table` of the run `out`.
    // Returns nothing if one is stored in columns of other types there. `stored`: the places of the input's pages;
    // none: they are not copied.
    static std::unique_ptr<KeptColumns> find(dataset::Reader const& input, std::size_t input_table,
                                             std::shared_ptr<format::rntuple::StoredClusters const> stored,
                                             model::RunHead const& out, std::string const& table,
                                             std::vector<std::string> const& kept, CopyPages copy);

    // Appends rows of the input: all, or those whose byte of `mask` is not 0. `computed`: one span for each column
    // that is not kept, in the order of the output's, as `Producer::append` takes them: of the chosen rows.
    // Throws base::DataError if the input is damaged.
    void append(model::RowRange rows, std::span<std::byte const> mask,
                std::span<std::span<std::byte const> const> computed, dataset::Producer& to);

    CopiedPages copied() const { return copier_ ? copier_->copied() : CopiedPages{}; }

  private:
    KeptColumns(KeptTable table, CopyPages copy) : table_(std::move(table)), copy_(copy) {}

    bool is_worth_copying(std::size_t cluster, dataset::Producer const& to) const;
    std::size_t next_cluster(std::uint64_t row) const;
    void append_decoded(model::RowRange rows, std::span<std::byte const> mask, dataset::RowSlices& computed,
                        dataset::Producer& to);

    KeptTable table_;
    CopyPages copy_;
    std::unique_ptr<ClusterCopier> copier_; // none: no pages are copied
};

// Returns where the pages of a table lie; nothing if they cannot be copied, because its container has no clusters or is
// still being written.
std::shared_ptr<format::rntuple::StoredClusters const> stored_clusters(dataset::Reader const& input, std::size_t table);

// Returns the codec, as a user writes it, that most bytes of these fields have in the input: with it they can be
// copied. Returns nothing if there is none.
std::optional<std::string> codec_of_input(format::rntuple::StoredClusters const& stored,
                                          std::vector<std::string> const& fields);

// Returns the rows at which clusters end.
std::vector<std::uint64_t> cluster_ends(format::rntuple::StoredClusters const& stored);

} // namespace thalweg::derive
