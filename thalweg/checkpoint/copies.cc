#include "thalweg/checkpoint/copies.h"

#include <algorithm>

#include "thalweg/base/assert.h"
#include "thalweg/base/checksum.h"
#include "thalweg/base/stream_copy.h"
#include "thalweg/base/units.h"
#include "thalweg/checkpoint/pieces.h"

namespace thalweg::checkpoint {
namespace {

using base::kBlockBytes;

class Copier {
  public:
    Copier(ArrayPlan const& plan, OwnPart& own) : plan_(plan), own_(own) {}

    // Returns the bytes of memory that it takes, in whole blocks.
    std::uint64_t bytes() const {
        if (!is_by_page()) return base::round_up(block_bytes(), kBlockBytes);
        std::uint64_t bytes = 0;
        for (auto const& page : own_.part.pages) bytes += base::round_up(lead_of(page) + bytes_of(page), kBlockBytes);
        return bytes;
    }

    void copy(std::byte* at) {
        if (!is_by_page()) return copy_block(at);
        for (auto& page : own_.part.pages) {
            own_.copies.emplace_back(at + lead_of(page), bytes_of(page));
            copy_page(page, own_.copies.back());
            at += base::round_up(lead_of(page) + bytes_of(page), kBlockBytes);
        }
        THALWEG_ASSERT(own_.copies.size() == own_.part.pages.size(), "every page is copied once");
    }

  private:
    // Pages of a codec are not stored as they are, and padding would take more memory than the blocks do.
    bool is_by_page() const {
        return plan_.codec == "none" && std::ranges::all_of(own_.part.pages, [&](ArrayPage const& page) {
                   return own_.shape_of(page) == page.box.shape;
               });
    }

    bool has_offsets() const { return plan_.layout == Layout::contiguous; }
    std::uint64_t lead_of(ArrayPage const& page) const { return has_offsets() ? page.offset % kBlockBytes : 0; }
    std::uint64_t bytes_of(ArrayPage const& page) const { return page.box.count() * plan_.element_bytes(); }
    std::uint64_t block_bytes() const { return own_.memory.box.count() * plan_.element_bytes(); }

    void copy_block(std::byte* at) {
        auto const& box = own_.memory.box;
        Overlap(box, box.shape, own_.memory, plan_.element_bytes()).to_page(0, {at, block_bytes()});
        own_.memory = {box, at, packed_strides(box.shape, plan_.element_bytes())};
    }

    void copy_page(ArrayPage& page, std::span<std::byte> to) const {
        Overlap const overlap(page.box, page.box.shape, own_.memory, plan_.element_bytes());
        page.checksums.clear();
        for (auto const& piece : pieces_of(page.offset, to.size())) {
            auto const begin = piece.offset - page.offset;
            auto const bytes = to.subspan(begin, piece.size_bytes);
            copy_piece(overlap, begin, bytes, has_offsets() ? &page.checksums : nullptr);
        }
    }

    static void copy_piece(Overlap const& overlap, std::uint64_t begin, std::span<std::byte> bytes,
                           std::vector<std::uint64_t>* checksums) {
        if (!overlap.is_whole()) {
            overlap.to_page(begin, bytes);
            if (checksums) checksums->push_back(base::xxh3(bytes));
            return;
        }
        // Bytes that are read for the checksum are in the cache when they are copied. The copy is not read here again.
        std::span<std::byte const> const from(overlap.data() + begin, bytes.size());
        if (checksums) checksums->push_back(base::xxh3(from));
        base::stream_copy(bytes.data(), from);
    }

    ArrayPlan const& plan_;
    OwnPart& own_;
};

} // namespace

void copy_parts(std::vector<ArrayPlan> const& plans, std::vector<OwnPart>& parts, base::AlignedBuffer& memory) {
    std::uint64_t bytes = 0;
    for (auto& own : parts) bytes += Copier(plans[own.array], own).bytes();
    if (memory.size() < bytes) {
        memory = {}; // never both
        memory = base::AlignedBuffer(bytes, base::PageSize::huge);
    }
    auto* at = memory.data();
    for (auto& own : parts) {
        Copier copier(plans[own.array], own);
        copier.copy(at);
        at += copier.bytes();
    }
}

} // namespace thalweg::checkpoint
