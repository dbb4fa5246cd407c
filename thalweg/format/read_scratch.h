// What one thread decodes a page in, within the memory that all readers of the process have for that.
#pragma once

#include <cstddef>
#include <optional>

#include "thalweg/base/scratch_budget.h"
#include "thalweg/format/page_decoder.h"

namespace thalweg::format {

// Of its thread, for one page: one at a time. Memory is held only while it is there, so that nobody waits for a thread
// that itself waits for others; buffers that are not small go with it.
class ReadScratch {
  public:
    // Waits until there is memory for a page of which `out_bytes` are wanted; none: its stored bytes.
    ReadScratch(model::Page const& page, std::optional<std::size_t> out_bytes);
    ~ReadScratch();
    ReadScratch(ReadScratch const&) = delete;
    ReadScratch& operator=(ReadScratch const&) = delete;

    PageDecoder& decoder() const { return decoder_; }

  private:
    PageDecoder& decoder_;
    base::ScratchShare share_;
};

} // namespace thalweg::format
