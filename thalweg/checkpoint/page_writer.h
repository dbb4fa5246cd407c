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

// The part of a dataset that this rank has.
struct OwnPart {
    std::size_t array = 0; // of the plans
    ArrayPart part;
    Memory memory;
    std::vector<Bytes> encoded; // of its pages; empty: all are written as they are
    // Copies of its pages, as they will be stored, each as far behind a block of memory as it is behind one of the
    // file, with the rest of its last block. Empty: pages are taken from `memory`.
    std::vector<std::span<std::byte>> copies;

    PerAxis const& shape_of(ArrayPage const& page) const { return part.chunk.empty() ? page.box.shape : part.chunk; }
};

// Bytes of a block of the file of which other ranks have a part, too: rank 0 writes them.
struct Edge {
    std::uint64_t offset = 0;
    Bytes bytes;
};

// Its writes go on in the background until `finish`, or until it is destroyed.
class PageWriter {
  public:
    PageWriter(storage::Storage& file, std::vector<ArrayPlan> const& plans);
    PageWriter(PageWriter const&) = delete;
    PageWriter& operator=(PageWriter const&) = delete;
    ~PageWriter();

    // All pages of `parts` have their places. Sets checksums that are not there yet. On return the last writes are
    // still on their way; of the memory of arrays only `copies` are in use then.
    void write(std::vector<OwnPart>& parts);
    // Returns the blocks that are left for rank 0 to write.
    std::vector<Edge> const& edges() const;
    // Waits until all is written. Nothing is synced.
    void finish();

  private:
    class Writing;
    std::vector<ArrayPlan> const& plans_;
    std::unique_ptr<Writing> writing_;
};

} // namespace thalweg::checkpoint
