// For any bytes, in any pieces, rows lie within the bytes, their columns have the sizes that the table says, and every
// byte is in one row or counted as garbage; or DataError is thrown. Build with -DTHALWEG_FUZZ=ON and clang.
#include <array>

#include "thalweg/base/error.h"
#include "thalweg/model/column.h"
#include "thalweg/source/raw/decoder.h"
#include "thalweg/source/raw/testing.h"

namespace {

using namespace thalweg;
using namespace thalweg::source::raw;

std::vector<Row> all_rows() {
    using model::Scalar;
    using Role = RowField::Role;
    auto packed = testing::listed_row(Row::LengthOf::bytes);
    packed.fields.back().packed_bits = 10;
    auto unsynced = testing::listed_row();
    unsynced.fields.erase(unsynced.fields.begin());
    return {
        testing::synced_row(),
        testing::listed_row(),
        testing::listed_row(Row::LengthOf::whole_row),
        packed,
        unsynced,
        {.fields = {{.name = "t", .role = Role::timestamp, .scalar = Scalar::uint32, .big_endian = true, .scale = 3},
                    {.name = "s", .scalar = Scalar::int16, .packed_bits = 14, .high_first = true, .shape = {9}},
                    {.name = "w", .scalar = Scalar::uint16, .bits = {{.name = "b", .first = 3, .count = 9}}}}}};
}

void must(bool condition) {
    if (!condition) __builtin_trap();
}

void look_at_columns(std::vector<model::Column> const& columns, std::span<std::span<std::byte const> const> made,
                     std::size_t rows) {
    must(made.size() == columns.size());
    unsigned sum = 0;
    for (std::size_t i = 0; i < made.size(); ++i) {
        for (auto const byte : made[i]) sum += static_cast<unsigned>(byte);
        if (!columns[i].parent) must(made[i].size() == rows * columns[i].item_bytes());
    }
    static_cast<void>(sum);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    static auto const rows = all_rows();
    if (size < 2) return 0;
    auto const& row = rows[data[0] % rows.size()];
    std::size_t const piece = data[1] + 1U;
    auto const columns = model::flatten(table_of(row));
    auto rest = std::as_bytes(std::span(data, size).subspan(2));
    Framer framer(row);
    Decoder decoder(row);
    std::vector<std::byte> there;
    std::size_t in_rows = 0, dropped = 0;
    try {
        for (bool is_end = false; !is_end;) {
            auto const more = rest.first(std::min(piece, rest.size()));
            there.insert(there.end(), more.begin(), more.end());
            rest = rest.subspan(more.size());
            is_end = rest.empty();
            for (;;) {
                auto const found = framer.find(there, is_end, 7);
                must(found.bytes <= there.size());
                if (found.bytes == 0) break;
                (found.rows > 0 ? in_rows : dropped) += found.bytes;
                if (found.rows > 0)
                    look_at_columns(columns,
                                    decoder.decode({.base = there.data(),
                                                    .count = found.rows,
                                                    .stride = shape_of(row).fixed_bytes,
                                                    .frames = found.frames.empty() ? nullptr : found.frames.data()}),
                                    found.rows);
                there.erase(there.begin(), there.begin() + static_cast<std::ptrdiff_t>(found.bytes));
            }
        }
        must(in_rows + dropped + there.size() == size - 2);
        must(dropped >= framer.garbage_bytes());
    } catch (base::DataError const&) {
    }
    return 0;
}
