#include "thalweg/format/tiles.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/error.h"

namespace thalweg::format {
namespace {

constexpr std::uint64_t kMostValues = std::uint64_t{1} << 40; // of a tile, or an item: far from any overflow

} // namespace

std::optional<TileGrid> TileGrid::of(std::span<std::uint64_t const> item_shape, model::Tiling const& tiling) {
    if (item_shape.empty() || tiling.shape.size() != item_shape.size()) return std::nullopt;
    TileGrid grid;
    grid.sides_.resize(item_shape.size());
    for (auto i = item_shape.size(); i-- > 0;) {
        auto const item = item_shape[i];
        auto const tile = tiling.shape[i];
        if (item == 0 || tile == 0 || item > kMostValues / grid.item_values_ || tile > kMostValues / grid.tile_values_)
            return std::nullopt;
        auto const tiles = (item + tile - 1) / tile;
        grid.sides_[i] = {item, tile, tiles, grid.item_values_, grid.tile_values_};
        grid.item_values_ *= item;
        grid.tile_values_ *= tile;
        grid.tiles_ *= tiles;
    }
    return grid;
}

std::vector<TilePiece> slice_tiles(std::span<model::Page const> pages, std::uint64_t tiles, std::uint64_t first,
                                   std::uint64_t count) {
    std::vector<TilePiece> pieces;
    auto const end = first + count;
    auto page = std::partition_point(pages.begin(), pages.end(),
                                     [&](model::Page const& each) { return each.first + each.count <= first; });
    for (auto item = first; item < end; page += static_cast<std::ptrdiff_t>(tiles)) {
        if (static_cast<std::uint64_t>(pages.end() - page) < tiles || page->first > item) {
            base::fail_data({fmt::format("items {} to {} are missing", item, end), "no page holds them"});
        }
        auto const cut = item - page->first;
        auto const taken = std::min(end - item, page->count - cut);
        for (std::uint64_t tile = 0; tile < tiles; ++tile) {
            auto piece = page[static_cast<std::ptrdiff_t>(tile)];
            piece.first = item;
            piece.skip += cut;
            piece.count = taken;
            pieces.push_back({piece, tile});
        }
        item += taken;
    }
    return pieces;
}

} // namespace thalweg::format
