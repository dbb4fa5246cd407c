// HDF5 as a format: it writes files of ours (the format: docs/formats/hdf5.md), and reads those of other programs, too.
#pragma once

#include "thalweg/format/format.h"

namespace thalweg::format::hdf5::files {

class Hdf5Format final : public Format {
  public:
    model::LayoutOptions with_own_values(model::LayoutOptions options) const override;
    model::RunHead make_head(model::Schema schema, model::LayoutOptions const& options,
                             std::map<std::string, std::string> metadata) const override;
    std::uint64_t begin(storage::Storage& file, model::RunHead const& head) const override;
    std::optional<std::uint64_t> interim_sector() const override;
    Completed complete(storage::Storage& file, storage::Storage const& journal, model::RunHead const& head,
                       model::RunFacts const& facts) const override;
    std::uint64_t end_of_readable(storage::Storage const& file, model::RunHead const& head) const override;
    bool is_known_open(storage::Storage const& file) const override;
    model::RunMap load(storage::Storage const& file) const override;
    std::vector<FoundPages> load_pages(storage::Storage const& file, model::RunMap const& map,
                                       std::vector<WantedPages> const& wanted) const override;
    std::optional<std::string> run_id_of(storage::Storage const& file) const override;
    void check(storage::Storage const& file) const override;
    MetadataBound metadata_bound(model::RunHead const& head) const override;
};

Format const& hdf5_format();

// Returns true if the file has a superblock, behind a user block or not, or is a run of ours without one yet.
bool is_hdf5(storage::Storage const& file);

} // namespace thalweg::format::hdf5::files
