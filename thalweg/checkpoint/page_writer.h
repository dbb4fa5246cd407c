// Writes the pages of one rank.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "thalweg/checkpoint/elements.h"
#include "thalweg/checkpoint/layout.h"
#include "thalweg/checkpoint/ranks.h"
#include "thalweg/storage/storage.h"

namespace thalweg::checkpoint {

// What this rank has of a dataset.
struct OwnPart {
    std::size_t array = 0; // of the plans
    Part part;
    Memory memory;
    std::vector<Bytes> encoded; // of its pages; empty: all are written as they are
    // Of its pages, as they will be stored, each as far behind a block of memory as it is behind one of the file, with
    // the rest of its last block; empty: pages are taken from `memory`.
    std::vector<std::span<std::byte>> copies;

    Extents const& shape_of(Page const& page) const { return part.chunk.empty() ? page.box.shape : part.chunk; }
};

// Bytes of a block of the file that others have a part of, too: rank 0 writes them.
struct Edge {
    std::uint64_t offset = 0;
    Bytes bytes;
};

// All pages have their places. Sets checksums that are not there yet, and returns what is left for rank 0. Nothing is
// synced.
std::vector<Edge> write_pages(storage::Storage& file, std::vector<ArrayPlan> const& plans, std::vector<OwnPart>& parts);

} // namespace thalweg::checkpoint
