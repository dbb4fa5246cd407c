// The places of the tiles of an item, for columns whose pages hold parts of items.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "thalweg/model/page.h"

namespace thalweg::format {

class TileGrid {
  public:
    // None where these are no dimensions of a tile of such items: damaged metadata may say anything.
    static std::optional<TileGrid> of(std::span<std::uint64_t const> item_shape, model::Tiling const& tiling);

    std::uint64_t tiles() const { return tiles_; }             // that an item is cut into
    std::uint64_t tile_values() const { return tile_values_; } // padding included

    // Calls use(from, to, count) for all that a tile has of `items` items: `count` values that follow each other, at
    // value `from` of the decoded page (of `items` whole tiles) and at value `to` of the items.
    template <typename Use> void for_each_run(std::uint64_t tile, std::uint64_t items, Use const& use) const;

  private:
    struct Side {
        std::uint64_t item = 0;        // its extent,
        std::uint64_t tile = 0;        // that of a tile,
        std::uint64_t tiles = 0;       // and how many of these there are
        std::uint64_t item_stride = 0; // in values
        std::uint64_t tile_stride = 0;
    };

    std::vector<Side> sides_;
    std::uint64_t tiles_ = 1;
    std::uint64_t item_values_ = 1;
    std::uint64_t tile_values_ = 1;
};

// A tile of some items of its band.
struct TilePiece {
    model::Page page;
    std::uint64_t tile = 0;
};

// The tiles that hold items [first, first + count), cut to these. Throws base::DataError where an item is in none.
std::vector<TilePiece> slice_tiles(std::span<model::Page const> pages, std::uint64_t tiles, std::uint64_t first,
                                   std::uint64_t count);

template <typename Use> void TileGrid::for_each_run(std::uint64_t tile, std::uint64_t items, Use const& use) const {
    std::vector<std::uint64_t> extents(sides_.size());
    std::uint64_t corner = 0;
    for (auto i = sides_.size(); i-- > 0; tile /= sides_[i].tiles) {
        auto const origin = tile % sides_[i].tiles * sides_[i].tile;
        extents[i] = std::min(sides_[i].tile, sides_[i].item - origin);
        corner += origin * sides_[i].item_stride;
    }
    // The last sides that tile and item have in common make one run with the side in front of them.
    auto outer = sides_.size() - 1;
    while (outer > 0 && sides_[outer].tile == sides_[outer].item) --outer;
    auto const run = extents[outer] * sides_[outer].item_stride;
    std::vector<std::uint64_t> at(outer);
    for (std::uint64_t item = 0; item < items; ++item) {
        bool more = true;
        while (more) {
            auto from = item * tile_values_;
            auto to = item * item_values_ + corner;
            for (std::size_t i = 0; i < outer; ++i) {
                from += at[i] * sides_[i].tile_stride;
                to += at[i] * sides_[i].item_stride;
            }
            use(from, to, run);
            more = false;
            for (auto i = outer; i-- > 0 && !more;) {
                more = ++at[i] < extents[i];
                if (!more) at[i] = 0;
            }
        }
    }
}

} // namespace thalweg::format
