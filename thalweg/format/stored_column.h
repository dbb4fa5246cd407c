// Items of a column out of its pages, whatever its map says about these.
#pragma once

#include "thalweg/format/page_decoder.h"
#include "thalweg/model/page.h"

namespace thalweg::format {

// What refers to a run's head and map, which must outlive it.
struct StoredColumn {
    model::Column const& column;
    model::TableMap::ColumnMap const& map;
    std::string const& codec; // the layout's

    // What pages count.
    std::size_t unit_bytes() const {
        return (map.by_value ? 1 : column.values_per_item) * model::size_bytes(column.scalar);
    }
    std::string const& codec_of(model::Page const& page) const;
};

// What of a request lies in one page.
struct RequestPiece {
    model::Page page;
    std::uint64_t tile = 0;
    std::span<std::byte> out; // the `count` items of the page; of a tiled column all of these items, of each its part
};

// The pieces that fill `out` with items [first, first + count), for any number of threads to decode: none writes where
// another one does. Throws base::DataError where an item is in no page.
std::vector<RequestPiece> plan_pieces(StoredColumn const& stored, std::uint64_t first, std::uint64_t count,
                                      std::span<std::byte> out);

// `storage`: where the page is, which is only asked where it is in a file. Throws base::DataError (offset, reason).
void decode_piece(PageDecoder& decoder, StoredColumn const& stored, RequestPiece const& piece,
                  storage::Storage const& storage, bool check_checksum);

// Is this a map of such a column? What comes from another process may be anything.
bool is_sound(model::Column const& column, model::TableMap::ColumnMap const& map);

} // namespace thalweg::format
