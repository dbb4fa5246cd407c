#include "thalweg/format/stored_column.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/format/byte_order.h"
#include "thalweg/format/tiles.h"

namespace thalweg::format {
namespace {

using model::Page;

TileGrid grid_of(StoredColumn const& stored) {
    auto grid = TileGrid::of(stored.column.shape, *stored.map.tiling);
    if (!grid) base::fail_data({"the pages of the column have a shape that its items have not"});
    return *grid;
}

// `count` values, from value `to` of the items on.
void fill(StoredColumn const& stored, std::span<std::byte> items, std::uint64_t to, std::uint64_t count) {
    auto const size = model::size_bytes(stored.column.scalar);
    auto const out = items.subspan(to * size, count * size);
    auto const& value = stored.map.fill;
    bool const is_zero = std::all_of(value.begin(), value.end(), [](auto byte) { return byte == std::byte{}; });
    if (is_zero || value.size() != size) return std::fill(out.begin(), out.end(), std::byte{});
    for (std::size_t at = 0; at < out.size(); at += size) std::copy(value.begin(), value.end(), out.begin() + at);
    if (stored.map.big_endian) swap_numbers(out, stored.column.scalar);
}

void copy_held(StoredColumn const& stored, RequestPiece const& piece) {
    auto const& held = stored.map.held;
    auto const at = piece.page.offset + piece.page.skip * stored.unit_bytes();
    if (at > held.size() || piece.out.size() > held.size() - at) {
        base::fail_data({fmt::format("{} bytes of it are in the metadata", held.size()),
                         fmt::format("items should lie up to byte {}", at + piece.out.size())});
    }
    std::copy_n(held.begin() + static_cast<std::ptrdiff_t>(at), piece.out.size(), piece.out.begin());
    if (stored.map.big_endian) swap_numbers(piece.out, stored.column.scalar);
}

void decode_tile(PageDecoder& decoder, StoredColumn const& stored, RequestPiece const& piece,
                 storage::Storage const& storage, bool check_checksum) {
    auto const& page = piece.page;
    auto const grid = grid_of(stored);
    if (page.place == Page::Place::nowhere) {
        return grid.for_each_run(piece.tile, page.count,
                                 [&](auto, auto to, auto count) { fill(stored, piece.out, to, count); });
    }
    auto const size = model::size_bytes(stored.column.scalar);
    auto const tile_bytes = grid.tile_values() * size;
    auto const raw = decoder.raw(page, storage, {stored.column.scalar, tile_bytes, stored.map.big_endian},
                                 stored.codec_of(page), check_checksum);
    if (page.skip + page.count > raw.size() / tile_bytes) {
        base::fail_data(
            {fmt::format("the page at offset {} has {} bytes", page.offset, raw.size()),
             fmt::format("{} parts of items should lie in it, each of {} bytes", page.skip + page.count, tile_bytes)});
    }
    auto const* from_first = raw.data() + page.skip * tile_bytes;
    grid.for_each_run(piece.tile, page.count, [&](auto from, auto to, auto count) {
        std::memcpy(piece.out.data() + to * size, from_first + from * size, count * size);
    });
}

} // namespace

std::string const& StoredColumn::codec_of(Page const& page) const {
    return page.codec == 0 ? codec : map.other_codecs.at(page.codec - 1u);
}

std::vector<RequestPiece> plan_pieces(StoredColumn const& stored, std::uint64_t first, std::uint64_t count,
                                      std::span<std::byte> out) {
    std::vector<RequestPiece> pieces;
    auto const unit_bytes = stored.unit_bytes();
    auto const units = stored.column.item_bytes() / unit_bytes;
    auto const place_of = [&](Page const& page) {
        return out.subspan((page.first - first * units) * unit_bytes, page.count * unit_bytes);
    };
    if (stored.map.tiling) {
        for (auto const& [page, tile] : slice_tiles(stored.map.pages, grid_of(stored).tiles(), first, count)) {
            pieces.push_back({page, tile, place_of(page)});
        }
        return pieces;
    }
    for (auto const& page : model::slice(stored.map.pages, first * units, count * units)) {
        pieces.push_back({page, 0, place_of(page)});
    }
    return pieces;
}

void decode_piece(PageDecoder& decoder, StoredColumn const& stored, RequestPiece const& piece,
                  storage::Storage const& storage, bool check_checksum) {
    if (stored.map.tiling) return decode_tile(decoder, stored, piece, storage, check_checksum);
    if (piece.page.place == Page::Place::nowhere) {
        return fill(stored, piece.out, 0, piece.out.size() / model::size_bytes(stored.column.scalar));
    }
    if (piece.page.place == Page::Place::map) return copy_held(stored, piece);
    decoder.decode(piece.page, storage, {stored.column.scalar, stored.unit_bytes(), stored.map.big_endian},
                   stored.codec_of(piece.page), check_checksum, piece.out);
}

bool is_sound(model::Column const& column, model::TableMap::ColumnMap const& map) {
    for (auto const& page : map.pages) {
        if (page.place > Page::Place::map || page.codec > map.other_codecs.size()) return false;
    }
    if (!map.fill.empty() && map.fill.size() != model::size_bytes(column.scalar)) return false;
    if (!map.tiling) return true;
    auto const grid = TileGrid::of(column.shape, *map.tiling);
    if (!grid || map.by_value || map.pages.size() % grid->tiles() != 0) return false;
    for (std::size_t i = 0; i < map.pages.size(); ++i) {
        auto const& page = map.pages[i];
        auto const& first = map.pages[i - i % grid->tiles()];
        if (page.first != first.first || page.count != first.count || page.sums || page.skip != 0) return false;
        if (page.place == Page::Place::map || page.place == Page::Place::journal) return false;
    }
    return true;
}

} // namespace thalweg::format
