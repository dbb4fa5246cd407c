#include "thalweg/format/hdf5/others/found_field.h"

#include <algorithm>
#include <map>

namespace thalweg::format::hdf5::others {
namespace {

using model::Kind;
using Votes = std::map<std::uint64_t, std::size_t>; // by number of rows

void count(std::vector<FoundField> const& fields, Votes& votes) {
    for (auto const& each : fields) {
        if (each.field.kind == Kind::record) {
            count(each.members, votes);
        } else {
            ++votes[each.rows];
        }
    }
}

bool has_rows(FoundField const& field, std::uint64_t rows) {
    if (field.field.kind != Kind::record) return field.rows == rows;
    return std::ranges::any_of(field.members, [rows](auto const& member) { return has_rows(member, rows); });
}

} // namespace

std::optional<model::Scalar> sum_type(model::Scalar stored) {
    switch (stored) {
    case model::Scalar::int32:
    case model::Scalar::uint32:
        return model::Scalar::uint32;
    case model::Scalar::int64:
    case model::Scalar::uint64:
        return model::Scalar::uint64;
    case model::Scalar::boolean:
    case model::Scalar::int8:
    case model::Scalar::int16:
    case model::Scalar::uint8:
    case model::Scalar::uint16:
    case model::Scalar::float32:
    case model::Scalar::float64:
    case model::Scalar::complex64:
    case model::Scalar::complex128:
        return std::nullopt;
    }
    return std::nullopt;
}

std::optional<std::uint64_t> common_rows(std::vector<FoundField> const& fields) {
    Votes votes;
    count(fields, votes);
    if (votes.empty()) return std::nullopt;
    auto const most = std::ranges::max_element(
        votes, [](auto const& a, auto const& b) { return a.second <= b.second; }); // the last of those that are equal
    if (most->second == 1 && votes.size() > 1) return std::nullopt;
    return most->first;
}

void split_off(std::vector<FoundField>& fields, std::uint64_t rows, std::vector<FoundField>& apart) {
    std::vector<FoundField> kept;
    for (auto& each : fields) {
        if (!has_rows(each, rows)) {
            apart.push_back(std::move(each));
            continue;
        }
        if (each.field.kind == Kind::record) split_off(each.members, rows, apart);
        kept.push_back(std::move(each));
    }
    fields = std::move(kept);
}

std::vector<model::Field> fields_of(std::vector<FoundField>&& found, std::vector<Dataset>& columns) {
    std::vector<model::Field> fields;
    for (auto& each : found) {
        std::ranges::move(each.columns, std::back_inserter(columns));
        auto& field = fields.emplace_back(std::move(each.field));
        if (field.kind != Kind::string) field.members = fields_of(std::move(each.members), columns);
    }
    return fields;
}

} // namespace thalweg::format::hdf5::others
