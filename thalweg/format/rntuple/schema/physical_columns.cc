#include "thalweg/format/rntuple/schema/physical_columns.h"

#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace thalweg::format::rntuple {
namespace {

// Empty where the description makes no sense.
std::string codec_of(ColumnDescription const& column, ColumnFacts const& facts, std::uint32_t tag) {
    if (facts.bits != 0 && facts.bits != column.bits) return "";
    if (!facts.encoding.empty()) return fmt::format("root:{}", facts.encoding);
    if (column.type == ColumnType::switch_) return fmt::format("root:switch-{}", tag);
    if (column.type == ColumnType::real32_truncated) {
        return column.bits >= 10 && column.bits <= 31 ? fmt::format("root:truncated-{}", column.bits) : "";
    }
    auto const [least, most] = column.range.value_or(std::pair(0.0, 0.0));
    bool const good = column.bits >= 1 && column.bits <= 32 && std::isfinite(most - least) && least < most;
    return good ? fmt::format("root:quantized-{}-{}-{}", column.bits, least, most) : "";
}

} // namespace

PhysicalColumns::PhysicalColumns(SchemaDescription const& schema) : schema_(schema), by_field_(schema.fields.size()) {
    for (std::size_t i = 0; i < schema.columns.size(); ++i) by_field_[schema.columns[i].field].push_back(i);
    for (auto const& alias : schema.aliases) by_field_[alias.field].push_back(alias.physical);
}

std::optional<ColumnSource> PhysicalColumns::store(std::size_t physical, Wanted wanted, std::string& why) const {
    auto const& column = schema_.columns[physical];
    auto const* const facts = facts_of(column.type);
    if (!facts) {
        why = fmt::format("column type {:#04x} is not known here", static_cast<unsigned>(column.type));
        return std::nullopt;
    }
    auto codec = codec_of(column, *facts, wanted.tag);
    if (facts->content == wanted.content && !codec.empty()) {
        return ColumnSource{
            {{{physical, std::move(codec), column.first_element}}, facts->content == ColumnContent::sums},
            facts->scalar};
    }
    why = fmt::format("a column of type {:#04x} with {} bits does not fit it", static_cast<unsigned>(column.type),
                      column.bits);
    return std::nullopt;
}

std::optional<ColumnSource> PhysicalColumns::find(std::uint32_t field, Wanted wanted, std::string& why) const {
    auto const columns = of(field);
    if (columns.empty() || columns.size() % wanted.count != 0) {
        why = fmt::format("it has {} columns, not {}", columns.size(), wanted.count);
        return std::nullopt;
    }
    std::optional<ColumnSource> first;
    for (std::size_t i = 0; i < columns.size(); i += wanted.count) {
        if (schema_.columns[columns[i + wanted.position]].representation != i / wanted.count) {
            why = fmt::format("it has {} columns, not {}", columns.size(), wanted.count);
            return std::nullopt;
        }
        auto stored = store(columns[i + wanted.position], wanted, why);
        if (!stored) return std::nullopt;
        if (!first) {
            first = std::move(stored);
            continue;
        }
        if (stored->scalar != first->scalar) {
            why = "it is stored with several precisions";
            return std::nullopt;
        }
        first->source.representations.push_back(std::move(stored->source.representations[0]));
    }
    return first;
}

std::optional<ColumnSource> PhysicalColumns::numbers(std::uint32_t field, std::string& why) const {
    return find(field, {ColumnContent::numbers}, why);
}

std::optional<ColumnSource> PhysicalColumns::sums(std::uint32_t field, std::string& why) const {
    return find(field, {ColumnContent::sums}, why);
}

std::optional<ColumnSource> PhysicalColumns::alternative(std::uint32_t field, std::uint32_t tag,
                                                         std::string& why) const {
    return find(field, {.content = ColumnContent::alternatives, .tag = tag}, why);
}

std::optional<std::vector<ColumnSource>> PhysicalColumns::text(std::uint32_t field, std::string& why) const {
    auto const columns = of(field);
    if (columns.size() < 2 || schema_.columns[columns[1]].type != ColumnType::character) return std::nullopt;
    auto sums = find(field, {ColumnContent::sums, 0, 2}, why);
    auto characters = find(field, {ColumnContent::numbers, 1, 2}, why);
    if (!sums || !characters) return std::nullopt;
    std::vector<ColumnSource> both;
    both.push_back(std::move(*sums));
    both.push_back(std::move(*characters));
    return both;
}

} // namespace thalweg::format::rntuple
