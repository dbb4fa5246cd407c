#include "thalweg/checkpoint/page_writer.h"

#include <algorithm>
#include <cstring>

#include "thalweg/base/assert.h"
#include "thalweg/base/checksum.h"
#include "thalweg/base/units.h"
#include "thalweg/checkpoint/pieces.h"
#include "thalweg/checkpoint/write_buffers.h"

namespace thalweg::checkpoint {

using base::kBlockBytes;

class PageWriter::Writing {
  public:
    explicit Writing(storage::Storage& file) : buffers_(file) {}

    // `fill(begin, out)` gives the bytes of the page from `begin` on.
    template <class Fill> void write(ArrayPlan const& plan, ArrayPage& page, Fill const& fill) {
        auto const own = own_blocks(plan, page);
        page.checksums.clear();
        for (auto const& group : groups_of(page.offset, page.stored_bytes)) {
            auto* const buffer = buffers_.buffer();
            auto const first = base::round_down(group.offset, kBlockBytes); // which lies at the buffer's beginning
            for (auto const& piece : pieces_of(group.offset, group.size_bytes)) {
                std::span const bytes(buffer + (piece.offset - first), piece.size_bytes);
                fill(piece.offset - page.offset, bytes);
                page.checksums.push_back(base::xxh3(bytes)); // while it is in the processor's cache
            }
            write_group(own, group, buffer, first);
        }
        check_checksums(page);
    }

    // Writes the page from a copy (OwnPart::copies).
    void write(ArrayPlan const& plan, ArrayPage& page, std::byte* copy) {
        auto const own = own_blocks(plan, page);
        bool const has_checksums = !page.checksums.empty();
        for (auto const& group : groups_of(page.offset, page.stored_bytes)) {
            buffers_.wait_for_slot();
            auto* const data = copy + (group.offset - page.offset);
            for (auto const& piece : pieces_of(group.offset, has_checksums ? 0 : group.size_bytes)) {
                page.checksums.push_back(base::xxh3({data + (piece.offset - group.offset), piece.size_bytes}));
            }
            auto const first = base::round_down(group.offset, kBlockBytes);
            write_group(own, group, data - (group.offset - first), first);
        }
        check_checksums(page);
    }

    std::vector<Edge> const& edges() const { return edges_; }
    void finish() { buffers_.finish(); }

  private:
    // Whole blocks of the file into which no other rank writes.
    struct Own {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
    };

    // Pages that are not of a contiguous array begin at a block, and so does what comes behind them.
    static Own own_blocks(ArrayPlan const& plan, ArrayPage const& page) {
        auto const end = page.offset + page.stored_bytes;
        if (plan.layout != Layout::contiguous || end == plan.base + plan.bytes()) {
            return {base::round_up(page.offset, kBlockBytes), base::round_up(end, kBlockBytes)};
        }
        return {base::round_up(page.offset, kBlockBytes), base::round_down(end, kBlockBytes)};
    }

    static void check_checksums(ArrayPage const& page) {
        THALWEG_ASSERT(page.checksums.size() == piece_count(page.offset, page.stored_bytes),
                       "every piece of a page has its checksum");
    }

    void write_group(Own const& own, PagePiece const& group, std::byte* buffer, std::uint64_t first) {
        auto const end = group.offset + group.size_bytes;
        auto const begin_here = std::max(own.begin, first);
        auto const end_here = std::min(own.end, base::round_up(end, kBlockBytes));
        if (begin_here >= end_here) return keep_edge(group.offset, end, buffer, first);
        keep_edge(group.offset, std::min(begin_here, end), buffer, first);
        keep_edge(std::max(end_here, group.offset), end, buffer, first);
        if (end_here > end) std::memset(buffer + (end - first), 0, end_here - end);
        buffers_.submit(begin_here, {buffer + (begin_here - first), end_here - begin_here});
    }

    void keep_edge(std::uint64_t begin, std::uint64_t end, std::byte const* buffer, std::uint64_t first) {
        if (begin < end) edges_.push_back({begin, Bytes(buffer + (begin - first), buffer + (end - first))});
    }

    std::vector<Edge> edges_;
    WriteBuffers buffers_;
};

PageWriter::PageWriter(storage::Storage& file, std::vector<ArrayPlan> const& plans)
    : plans_(plans), writing_(std::make_unique<Writing>(file)) {}
PageWriter::~PageWriter() = default;

void PageWriter::write(std::vector<OwnPart>& parts) {
    for (auto& own : parts) {
        auto const& plan = plans_[own.array];
        for (std::size_t i = 0; i < own.part.pages.size(); ++i) {
            auto& page = own.part.pages[i];
            if (page.encoded) {
                writing_->write(plan, page, [&](std::uint64_t begin, std::span<std::byte> out) {
                    std::memcpy(out.data(), own.encoded[i].data() + begin, out.size());
                });
                own.encoded[i] = {};
                continue;
            }
            if (!own.copies.empty()) {
                writing_->write(plan, page, own.copies[i].data());
                continue;
            }
            Overlap const overlap(page.box, own.shape_of(page), own.memory, plan.element_bytes());
            writing_->write(plan, page,
                            [&](std::uint64_t begin, std::span<std::byte> out) { overlap.to_page(begin, out); });
        }
    }
}

std::vector<Edge> const& PageWriter::edges() const { return writing_->edges(); }
void PageWriter::finish() { writing_->finish(); }

} // namespace thalweg::checkpoint
