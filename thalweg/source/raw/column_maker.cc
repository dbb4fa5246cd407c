#include "thalweg/source/raw/column_maker.h"

#include <algorithm>
#include <cstring>

#include "thalweg/base/scratch.h"
#include "thalweg/source/raw/counting.h"
#include "thalweg/source/samples/unpack.h"

namespace thalweg::source::raw {
namespace {

using Made = std::span<std::byte const>;
using Role = RowField::Role;

// The numbers that are swapped if the byte order is another one: the two parts of a complex number are two.
std::size_t width_of(model::Scalar scalar) { return model::size_bytes(scalar) / (model::is_complex(scalar) ? 2 : 1); }

// Values are stored as they came, but for their byte order.
class PlainColumn : public ColumnMaker {
  public:
    PlainColumn(RowField const& field, std::size_t offset)
        : offset_(offset), bytes_(bytes_of_items(field, 1)),
          swapped_width_(field.big_endian ? width_of(field.scalar) : 1) {}

    Made make(Rows const& rows) override {
        if (rows.count == 1 && swapped_width_ == 1) return {rows.at(0) + offset_, bytes_};
        auto* const to = scratch_.of(rows.count * bytes_);
        bool const is_number = bytes_ == 1 || bytes_ == 2 || bytes_ == 4 || bytes_ == 8;
        if (is_number)
            with_unsigned(bytes_, [&]<typename Integer> {
                rows.each([&](std::byte const* row, std::size_t i) {
                    std::memcpy(to + i * sizeof(Integer), row + offset_, sizeof(Integer));
                });
            });
        else
            rows.each(
                [&](std::byte const* row, std::size_t i) { std::memcpy(to + i * bytes_, row + offset_, bytes_); });
        swap_bytes(to, rows.count * bytes_, swapped_width_);
        return {to, rows.count * bytes_};
    }

  private:
    std::size_t offset_, bytes_, swapped_width_;
    base::Scratch scratch_;
};

class BitColumn : public ColumnMaker {
  public:
    BitColumn(RowField const& field, BitField const& bits, std::size_t offset)
        : offset_(offset), big_endian_(field.big_endian), width_(model::size_bytes(field.scalar)),
          stored_(model::size_bytes(unsigned_of(bits.count))), first_(bits.first),
          mask_(~std::uint64_t{0} >> (64 - bits.count)) {}

    Made make(Rows const& rows) override {
        auto* const to = scratch_.of(rows.count * stored_);
        with_unsigned(width_, [&]<typename From> {
            with_unsigned(stored_, [&]<typename To> {
                rows.each([&](std::byte const* row, std::size_t i) {
                    auto const bits = load_unsigned(row + offset_, sizeof(From), big_endian_) >> first_ & mask_;
                    auto const value = static_cast<To>(bits);
                    std::memcpy(to + i * sizeof value, &value, sizeof value);
                });
            });
        });
        return {to, rows.count * stored_};
    }

  private:
    std::size_t offset_;
    bool big_endian_;
    std::size_t width_, stored_;
    unsigned first_;
    std::uint64_t mask_;
    base::Scratch scratch_;
};

class ClockColumn : public ColumnMaker {
  public:
    ClockColumn(RowField const& field, std::size_t offset)
        : offset_(offset), big_endian_(field.big_endian), width_(model::size_bytes(field.scalar)),
          clock_(static_cast<unsigned>(8 * width_), field.scale) {}

    Made make(Rows const& rows) override {
        auto* const to = scratch_.of(rows.count * sizeof(std::uint64_t));
        with_unsigned(width_, [&]<typename Integer> {
            rows.each([&](std::byte const* row, std::size_t i) {
                auto const time = clock_.at(load_unsigned(row + offset_, sizeof(Integer), big_endian_));
                std::memcpy(to + i * sizeof time, &time, sizeof time);
            });
        });
        return {to, rows.count * sizeof(std::uint64_t)};
    }

  private:
    std::size_t offset_;
    bool big_endian_;
    std::size_t width_;
    WideClock clock_;
    base::Scratch scratch_;
};

class PackedColumn : public ColumnMaker {
  public:
    PackedColumn(RowField const& field, std::size_t offset)
        : offset_(offset), samples_(values_of(field)),
          unpack_(samples::unpack_of({.bits = field.packed_bits,
                                      .high_first = field.high_first,
                                      .is_signed = field.scalar == model::Scalar::int16})) {}

    Made make(Rows const& rows) override {
        auto const bytes = 2 * samples_;
        auto* const to = scratch_.of(rows.count * bytes);
        rows.each([&](std::byte const* row, std::size_t i) { unpack_(row + offset_, samples_, to + i * bytes); });
        return {to, rows.count * bytes};
    }

  private:
    std::size_t offset_, samples_;
    samples::Unpack unpack_;
    base::Scratch scratch_;
};

class LengthColumn : public ColumnMaker {
  public:
    Made make(Rows const& rows) override {
        auto* const to = scratch_.of(rows.count * sizeof(std::uint64_t));
        for (std::size_t i = 0; i < rows.count; ++i) {
            std::uint64_t const items = rows.frames[i].items;
            std::memcpy(to + i * sizeof items, &items, sizeof items);
        }
        return {to, rows.count * sizeof(std::uint64_t)};
    }

  private:
    base::Scratch scratch_;
};

class ListColumn : public ColumnMaker {
  public:
    ListColumn(RowField const& field, std::size_t offset)
        : offset_(offset), item_bytes_(model::size_bytes(field.scalar)),
          swapped_width_(field.big_endian && field.packed_bits == 0 ? width_of(field.scalar) : 1) {
        if (field.packed_bits != 0)
            unpack_ = samples::unpack_of({.bits = field.packed_bits,
                                          .high_first = field.high_first,
                                          .is_signed = field.scalar == model::Scalar::int16});
    }

    Made make(Rows const& rows) override {
        std::size_t items = 0;
        for (std::size_t i = 0; i < rows.count; ++i) items += rows.frames[i].items;
        auto* const begin = scratch_.of(items * item_bytes_);
        auto* to = begin;
        rows.each([&](std::byte const* row, std::size_t i) {
            auto const bytes = rows.frames[i].items * item_bytes_;
            if (unpack_)
                unpack_(row + offset_, rows.frames[i].items, to);
            else if (bytes > 0)
                std::memcpy(to, row + offset_, bytes);
            to += bytes;
        });
        swap_bytes(begin, items * item_bytes_, swapped_width_);
        return {begin, items * item_bytes_};
    }

  private:
    std::size_t offset_, item_bytes_, swapped_width_;
    samples::Unpack unpack_ = nullptr;
    base::Scratch scratch_;
};

void add_makers(std::vector<std::unique_ptr<ColumnMaker>>& makers, RowField const& field, std::size_t offset) {
    if (field.role == Role::skip || field.role == Role::sync || field.role == Role::length) return;
    for (auto const& bits : field.bits) makers.push_back(std::make_unique<BitColumn>(field, bits, offset));
    if (!field.bits.empty()) return;
    if (field.has_length) {
        makers.push_back(std::make_unique<LengthColumn>());
        makers.push_back(std::make_unique<ListColumn>(field, offset));
    } else if (field.role == Role::timestamp) {
        makers.push_back(std::make_unique<ClockColumn>(field, offset));
    } else if (field.packed_bits != 0) {
        makers.push_back(std::make_unique<PackedColumn>(field, offset));
    } else {
        makers.push_back(std::make_unique<PlainColumn>(field, offset));
    }
}

} // namespace

std::vector<std::unique_ptr<ColumnMaker>> column_makers(Row const& row, RowShape const& shape) {
    std::vector<std::unique_ptr<ColumnMaker>> makers;
    for (std::size_t i = 0; i < row.fields.size(); ++i) add_makers(makers, row.fields[i], shape.offsets[i]);
    return makers;
}

} // namespace thalweg::source::raw
