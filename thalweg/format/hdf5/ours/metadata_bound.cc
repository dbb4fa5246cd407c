#include "thalweg/format/hdf5/ours/metadata_bound.h"

#include <algorithm>

#include "thalweg/base/units.h"
#include "thalweg/format/hdf5/dataset_paths.h"

namespace thalweg::format::hdf5::ours {
namespace {

// An entry of HDF5's chunk index (at most 24 bytes, and its blocks double), and three numbers in the page table.
constexpr std::uint64_t kBytesPerPage = 96;
// Object headers, links, attributes and the first blocks of an index, beside names and texts.
constexpr std::uint64_t kBytesPerColumn = 16 * base::kKiB;
constexpr std::uint64_t kBytesPerFile = 2 * base::kMiB; // page table in whole chunks, heaps, groups

std::uint64_t text_bytes(model::RunHead const& head) {
    std::uint64_t bytes = model::to_json(head).size();
    for (std::size_t t = 0; t < head.columns.size(); ++t) {
        for (auto const& column : head.columns[t]) bytes += dataset_path(head.schema.tables[t], column).size();
    }
    return bytes;
}

// Lengths are written anew, as sums: all other pages stay where they are.
std::uint64_t largest_lengths_page_bytes(model::RunHead const& head) {
    std::uint64_t bytes = 0;
    for (std::size_t t = 0; t < head.columns.size(); ++t) {
        for (std::size_t c = 0; c < head.columns[t].size(); ++c) {
            auto const& column = head.columns[t][c];
            if (column.role != model::Column::Role::lengths) continue;
            bytes = std::max(bytes, head.layouts[t].columns[c].page_items * column.item_bytes());
        }
    }
    return bytes;
}

// The last, partly filled page of every column.
std::uint64_t tail_bytes(model::RunHead const& head) {
    std::uint64_t bytes = 0;
    for (std::size_t t = 0; t < head.columns.size(); ++t) {
        for (std::size_t c = 0; c < head.columns[t].size(); ++c) {
            bytes += head.layouts[t].columns[c].page_items * head.columns[t][c].item_bytes() + kBytesPerColumn;
        }
    }
    return bytes;
}

} // namespace

MetadataBound metadata_bound(model::RunHead const& head) {
    // Texts: the head itself, and again in attributes, links and the heaps that hold them, which double.
    return {kBytesPerFile + 8 * text_bytes(head) + tail_bytes(head), kBytesPerPage, largest_lengths_page_bytes(head)};
}

} // namespace thalweg::format::hdf5::ours
