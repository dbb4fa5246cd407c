#include "thalweg/features/field_kinds.h"

#include <algorithm>
#include <array>
#include <utility>

namespace thalweg::features {
namespace {

using model::Field, model::Kind, model::Scalar;

bool is_sample(Field const& field) {
    return field.kind == Kind::scalar && (field.scalar == Scalar::uint16 || field.scalar == Scalar::int16);
}

} // namespace

std::optional<std::size_t> place_of(std::vector<Field> const& fields, std::string_view name) {
    auto const found = std::ranges::find(fields, name, &Field::name);
    if (found == fields.end()) return {};
    return static_cast<std::size_t>(found - fields.begin());
}

Field const* values_of(Field const& waveform) {
    if (waveform.kind != Kind::record) return &waveform;
    auto const values = place_of(waveform.members, "values");
    return values && waveform.shape.empty() ? &waveform.members[*values] : nullptr;
}

bool holds_samples(Field const& values) {
    if (values.kind == Kind::list)
        return values.shape.empty() && is_sample(values.members[0]) && values.members[0].shape.empty();
    return is_sample(values) && values.shape.size() == 1;
}

void make_list(Field& waveform) {
    auto& values = waveform.kind == Kind::record ? waveform.members[*place_of(waveform.members, "values")] : waveform;
    if (values.kind == Kind::list) return;
    values.members = {Field{.name = "sample", .scalar = values.scalar}};
    values.kind = Kind::list;
    values.shape.clear();
}

bool is_time_in_ns(model::Table const& table, model::Column const& column) {
    if (column.field_path.size() != 2 || column.values_per_item != 1) return false;
    auto const& unit = table.fields[column.field_path[0]].members[column.field_path[1]].unit;
    return (column.scalar == Scalar::float32 || column.scalar == Scalar::float64) && (unit.empty() || unit == "ns");
}

std::uint64_t ps_of_unit(std::string_view unit) {
    constexpr std::array<std::pair<std::string_view, std::uint64_t>, 6> kUnits{{{"ps", 1},
                                                                                {"ns", 1'000},
                                                                                {"us", 1'000'000},
                                                                                {"\u00b5s", 1'000'000},
                                                                                {"ms", 1'000'000'000},
                                                                                {"s", 1'000'000'000'000}}};
    auto const* const found = std::ranges::find(kUnits, unit, &decltype(kUnits)::value_type::first);
    return found == kUnits.end() ? 0 : found->second;
}

} // namespace thalweg::features
