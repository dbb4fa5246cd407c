// The contents of responses: fragments of several pieces each, which lie apart in a memory much larger than the
// second-level cache, and are used in order, as an index would give them.
#pragma once

#include <cstddef>
#include <sys/uio.h>
#include <vector>

#include "thalweg/base/memory.h"

namespace thalweg::study {

class Pieces {
  public:
    // `sizes` are those of the pieces of a fragment.
    Pieces(std::vector<std::size_t> const& sizes, std::size_t fragments);

    // Returns the pieces of the next response; they are valid until the next call.
    std::vector<iovec>& next();

    std::size_t response_bytes() const { return response_bytes_; }
    std::size_t fragments() const { return fragments_; }

  private:
    base::AlignedBuffer memory_;
    std::vector<std::size_t> sizes_; // for one fragment
    std::size_t fragments_;          // in one response
    std::size_t response_bytes_;
    std::size_t position_ = 0;
    std::vector<iovec> response_;
};

} // namespace thalweg::study
