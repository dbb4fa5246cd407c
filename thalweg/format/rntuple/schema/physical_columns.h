// The columns of each field, aliases included, as sources for columns of the model. For this folder's own .cc files.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/format/rntuple/schema/schema.h"
#include "thalweg/format/rntuple/schema/schema_types.h"

namespace thalweg::format::rntuple {

struct ColumnSource {
    ForeignTable::Source source;
    model::Scalar scalar = model::Scalar::uint64; // that it decodes to
};

// Whatever it cannot give is nothing, and then `why` tells the reason.
class PhysicalColumns {
  public:
    explicit PhysicalColumns(SchemaDescription const& schema);

    std::span<std::size_t const> of(std::uint32_t field) const { return by_field_[field]; }

    // The column of a number; of running sums; of a variant's alternatives, that tells where alternative `tag` is.
    std::optional<ColumnSource> numbers(std::uint32_t field, std::string& why) const;
    std::optional<ColumnSource> sums(std::uint32_t field, std::string& why) const;
    std::optional<ColumnSource> alternative(std::uint32_t field, std::uint32_t tag, std::string& why) const;
    // The two columns of a string: running sums and characters.
    std::optional<std::vector<ColumnSource>> text(std::uint32_t field, std::string& why) const;

  private:
    // Column `position` of the `count` that every representation of the field has.
    struct Wanted {
        ColumnContent content;
        std::size_t position = 0;
        std::size_t count = 1;
        std::uint32_t tag = 0;
    };
    std::optional<ColumnSource> find(std::uint32_t field, Wanted wanted, std::string& why) const;
    std::optional<ColumnSource> store(std::size_t physical, Wanted wanted, std::string& why) const;

    SchemaDescription const& schema_;
    std::vector<std::vector<std::size_t>> by_field_;
};

} // namespace thalweg::format::rntuple
