#include "thalweg/dataset/append/table_encoder.h"

#include <cstring>

#include "thalweg/base/assert.h"

namespace thalweg::dataset {

TableEncoder::TableEncoder(std::vector<model::Column> const& columns, model::TableLayout const& layout) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto const& name = layout.columns[i].codec;
        codecs_.push_back(name == "none" ? nullptr : codec::make_codec(name, model::size_bytes(columns[i].scalar)));
        has_sums_.push_back(layout.cluster_bytes > 0 && columns[i].role == model::Column::Role::lengths);
    }
}

std::size_t TableEncoder::bound_bytes(std::size_t column, std::size_t raw_bytes) const {
    return codecs_[column] == nullptr ? raw_bytes : codecs_[column]->bound_bytes(raw_bytes);
}

TableEncoder::Encoded TableEncoder::encode(std::size_t column, std::span<std::byte const> raw, std::uint64_t sum_before,
                                           std::span<std::byte> out) {
    if (has_sums_[column]) raw = sums_of(raw, sum_before);
    if (auto* const codec = codecs_[column].get()) {
        if (auto const stored_bytes = codec->encode(raw, out); stored_bytes > 0) return {stored_bytes, true};
    }
    THALWEG_ASSERT(raw.size() <= out.size(), "a raw page fits where its encoded one would");
    std::memcpy(out.data(), raw.data(), raw.size());
    return {raw.size(), false};
}

std::span<std::byte const> TableEncoder::sums_of(std::span<std::byte const> lengths, std::uint64_t sum_before) {
    sums_.resize(lengths.size() / sizeof(std::uint64_t));
    std::memcpy(sums_.data(), lengths.data(), lengths.size());
    for (auto& sum : sums_) sum = sum_before += sum;
    return std::as_bytes(std::span(sums_));
}

} // namespace thalweg::dataset
