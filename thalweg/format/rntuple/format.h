// ROOT RNTuple: every extent is a key of the file, every cluster its producer's; page lists, footers and anchors are
// the committer's. The format: docs/formats/rntuple.md and tfile.md.
#pragma once

#include "thalweg/format/format.h"

namespace thalweg::format::rntuple {

class RNTupleFormat final : public Format {
  public:
    model::LayoutOptions with_own_values(model::LayoutOptions options) const override;
    model::RunHead make_head(model::Schema schema, model::LayoutOptions const& options,
                             std::map<std::string, std::string> metadata) const override;
    ExtentRules extent_rules() const override;
    void write_extent_head(std::span<std::byte> extent, std::uint64_t offset) const override;
    void write_gap(storage::Storage& file, std::uint64_t offset, std::uint64_t size_bytes) const override;
    std::uint64_t begin(storage::Storage& file, model::RunHead const& head) const override;
    std::unique_ptr<InterimMetadata> interim_footers(model::RunHead const& head) const override;
    bool shows_rows_before_complete() const override { return true; } // by its anchors
    Completed complete(storage::Storage& file, storage::Storage const& journal, model::RunHead const& head,
                       model::RunFacts const& facts) const override;
    std::uint64_t end_of_readable(storage::Storage const& file, model::RunHead const& head) const override;
    model::RunMap load(storage::Storage const& file) const override;
    std::optional<std::string> run_id_of(storage::Storage const& file) const override;
    bool is_torn(storage::Storage const& file, model::RunHead const& head) const override;
    void check(storage::Storage const& file) const override;
    MetadataBound metadata_bound(model::RunHead const& head) const override;
};

Format const& rntuple_format();

} // namespace thalweg::format::rntuple
