#include "thalweg/source/raw/decoder.h"

#include <cstring>

namespace thalweg::source::raw {

Decoder::Decoder(Row const& row)
    : shape_(shape_of(row)), makers_(column_makers(row, shape_)), columns_(makers_.size()) {
    if (!shape_.sequence) return;
    auto const& field = row.fields[*shape_.sequence];
    sequence_offset_ = shape_.offsets[*shape_.sequence];
    sequence_bytes_ = model::size_bytes(field.scalar);
    sequence_is_big_endian_ = field.big_endian;
    sequence_ = std::make_unique<SequenceCheck>(static_cast<unsigned>(8 * sequence_bytes_));
}

std::span<std::span<std::byte const> const> Decoder::decode(Rows const& rows) {
    for (std::size_t i = 0; i < makers_.size(); ++i) columns_[i] = makers_[i]->make(rows);
    if (sequence_) check_sequence(rows);
    return columns_;
}

void Decoder::check_sequence(Rows const& rows) {
    with_unsigned(sequence_bytes_, [&]<typename Integer> {
        rows.each([&](std::byte const* row, std::size_t) {
            sequence_->see(load_unsigned(row + sequence_offset_, sizeof(Integer), sequence_is_big_endian_));
        });
    });
}

} // namespace thalweg::source::raw
