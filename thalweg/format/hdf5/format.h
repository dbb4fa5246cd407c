// HDF5: pages that lie in the file already are linked into it by libhdf5 itself. The format: docs/formats/hdf5.md.
#pragma once

#include "thalweg/format/format.h"
#include "thalweg/format/hdf5/header.h"

namespace thalweg::format::hdf5 {

class Hdf5Format final : public Format {
  public:
    model::LayoutOptions with_own_values(model::LayoutOptions options) const override;
    model::RunHead make_head(model::Schema schema, model::LayoutOptions const& options,
                             std::map<std::string, std::string> metadata) const override;
    std::uint64_t begin(storage::Storage& file, model::RunHead const& head) const override;
    Completed complete(storage::Storage& file, storage::Storage const& journal, model::RunHead const& head,
                       model::RunFacts const& facts) const override;
    std::uint64_t end_of_readable(storage::Storage const& file, model::RunHead const& head) const override;
    model::RunMap load(storage::Storage const& file) const override;
    std::vector<FoundPages> load_pages(storage::Storage const& file, model::RunMap const& map,
                                       std::vector<WantedPages> const& wanted) const override;
    std::optional<std::string> run_id_of(storage::Storage const& file) const override;
    void check(storage::Storage const& file) const override;
    MetadataBound metadata_bound(model::RunHead const& head) const override;
};

Format const& hdf5_format();

// Compares the page table of a file that Thalweg completed with HDF5's own index, page by page. Returns the number of
// pages; throws base::DataError that names the first difference.
std::uint64_t check_index(storage::Storage const& file);

} // namespace thalweg::format::hdf5
