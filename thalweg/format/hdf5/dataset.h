// A dataset of a file, and the chunks that hold it: read from a file, or planned before libhdf5 is called at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/model/page.h"

namespace thalweg::format::hdf5 {

// A page where it lies in the file: a chunk of its dataset.
struct Chunk {
    std::uint64_t offset = 0;
    std::uint64_t stored_bytes = 0;        // 0: there is no page here
    std::optional<std::uint64_t> checksum; // of the stored bytes, where it is known
    bool encoded = false;
    std::uint8_t codec = 0; // 0: the dataset's; else one of its other_codecs, from 1 on
};

// A dataset of items, cut into chunks of `page_items`.
struct Dataset {
    std::string path; // "/ch0/waveform/values"
    model::Scalar scalar = model::Scalar::float64;
    std::vector<std::uint64_t> shape; // of one item
    std::uint64_t item_bytes = 0;
    std::string codec;
    std::uint64_t page_items = 0;
    std::uint64_t items = 0;
    std::vector<Chunk> pages; // page i holds the items from i * page_items on; or see `tiling`, and `first_page`

    // The members below differ from their defaults only in datasets of other programs.
    std::optional<model::Tiling> tiling; // so many tiles for each `page_items` items, one after the other
    std::uint64_t pages_a_band = 1;      // pages for each `page_items` items: the tiles, or 1
    std::uint64_t tile_values = 0;
    std::vector<std::string> other_codecs;
    std::uint64_t first_page = 0; // what number the first of `pages` has, where these are some of all
    bool big_endian = false;
    bool has_fill = false; // where there is no page, items are `fill`; otherwise it is a fault to ask for these
    std::vector<std::byte> fill;
    bool later = false;                         // its pages are not known yet
    std::optional<std::vector<std::byte>> held; // all values, out of the metadata; there are no pages then

    std::uint64_t page_bytes() const {
        return page_items * (tiling ? tile_values * model::size_bytes(scalar) : item_bytes);
    }
};

} // namespace thalweg::format::hdf5
