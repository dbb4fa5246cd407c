// Memory in which one thread decodes a page, within the budget of all readers of the process.
#pragma once

#include <cstddef>
#include <optional>

#include "thalweg/base/scratch_budget.h"
#include "thalweg/format/page_decoder.h"

namespace thalweg::format {

// The scratch memory of a thread for one page; a thread has one at a time. Memory is held only while the object lives,
// so that no thread waits for one that itself waits for others. Buffers that are not small are freed with it.
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
