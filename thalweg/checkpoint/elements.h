// Copies elements between a page, in which they lie close in C order, and the memory of an array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "thalweg/checkpoint/array.h"

namespace thalweg::checkpoint {

// Elements of an array in memory: those of a box, from `data` on, with strides in bytes.
struct Memory {
    Box box;
    std::byte* data = nullptr;
    std::vector<std::int64_t> strides;
};

// Returns the strides of C order without gaps.
std::vector<std::int64_t> packed_strides(PerAxis const& shape, std::uint64_t element_bytes);

// The elements that a page and a memory have in common. Not for boxes that do not meet.
class Overlap {
  public:
    // `page_shape`: of the page with its padding.
    Overlap(Box const& page, PerAxis const& page_shape, Memory const& memory, std::uint64_t element_bytes);

    // The bytes of the page from `begin` on, a multiple of the element's; what is not in memory is zeros.
    void to_page(std::uint64_t begin, std::span<std::byte> page) const;
    void from_page(std::uint64_t begin, std::span<std::byte const> page) const;

    // Returns false if none of the page's bytes from `begin` to `end` are in memory; true may be wrong.
    bool has_any(std::uint64_t begin, std::uint64_t end) const;

    // Returns true if all of the page lies in memory from `data()` on, as it is.
    bool is_whole() const {
        return is_packed_ && axes_.size() == 1 && axes_[0].first == 0 && axes_[0].end == axes_[0].extent;
    }
    std::byte* data() const { return data_; }

  private:
    struct Axis {
        std::uint64_t extent = 1; // of the page, with padding
        std::uint64_t first = 0;  // of those that are in memory
        std::uint64_t end = 1;
        std::int64_t stride = 0; // in memory
    };

    // Calls `use(at, memory, count)`: from byte `at` of the page on, `count` elements are in memory.
    template <class Use> void for_rows(std::uint64_t begin, std::uint64_t end, Use const& use) const;

    std::uint64_t element_bytes_;
    std::vector<Axis> axes_; // as few as there can be
    std::byte* data_;        // of the first common element
    bool is_packed_ = false; // elements of the last axis have no gaps
};

} // namespace thalweg::checkpoint
