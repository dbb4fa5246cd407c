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

// Its writes go on behind the caller's back until `finish`, or until it is destroyed.
class PageWriter {
  public:
    PageWriter(storage::Storage& file, std::vector<ArrayPlan> const& plans);
    PageWriter(PageWriter const&) = delete;
    PageWriter& operator=(PageWriter const&) = delete;
    ~PageWriter();

    // All pages of `parts` have their places. Sets checksums that are not there yet. On return the last writes are
    // still on their way; of the memory of arrays only `copies` are in use then.
    void write(std::vector<OwnPart>& parts);
    // What is left for rank 0.
    std::vector<Edge> const& edges() const;
    // Until all is written. Nothing is synced.
    void finish();

  private:
    class Writing;
    std::vector<ArrayPlan> const& plans_;
    std::unique_ptr<Writing> writing_;
};

} // namespace thalweg::checkpoint
