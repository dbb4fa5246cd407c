// Turns raw items into pages of a dataset, behind all that is in the file already.
#pragma once

#include <memory>

#include "thalweg/codec/codec.h"
#include "thalweg/format/hdf5/dataset.h"
#include "thalweg/format/hdf5/ours/appender.h"

namespace thalweg::format::hdf5::ours {

// Scratch memory and codec for the pages of one dataset.
class ChunkEncoder {
  public:
    ChunkEncoder(Dataset const& dataset, Appender& appender);

    // `raw` has exactly the size of a page.
    Chunk append(std::span<std::byte const> raw);

  private:
    Appender& appender_;
    std::unique_ptr<codec::Codec> codec_;
    std::vector<std::byte> encoded_;
};

// Writes all items of a dataset, as they lie in memory.
void append_items(Dataset& dataset, std::span<std::byte const> items, Appender& appender);

} // namespace thalweg::format::hdf5::ours
