#include "thalweg/checkpoint/page_writer.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "thalweg/base/checksum.h"
#include "thalweg/base/memory.h"
#include "thalweg/base/units.h"
#include "thalweg/checkpoint/pieces.h"
#include "thalweg/storage/failure.h"

namespace thalweg::checkpoint {
namespace {

using base::kBlockBytes;

constexpr std::size_t kDepth = 8; // writes in flight

// Buffers that a queue writes from, each used again when its write has ended. Slots without a buffer stand for writes
// from other memory.
class Staging {
  public:
    explicit Staging(storage::Storage& file) : file_(file), queue_(file.write_queue(kDepth)) {
        for (std::size_t i = 0; i < kDepth + 1; ++i) free_.push_back(i);
        buffers_.resize(free_.size());
        offsets_.resize(free_.size());
    }

    void wait_for_slot() {
        while (free_.empty()) reap();
    }

    // Whole blocks; good until `submit`.
    std::byte* buffer() {
        wait_for_slot();
        auto& buffer = buffers_[free_.back()];
        if (buffer.size() == 0) buffer = base::AlignedBuffer(kPieceBytes + 2 * kBlockBytes);
        return buffer.data();
    }

    // Bytes of the buffer, or of memory that stays as it is until `finish`. There is a slot.
    void submit(std::uint64_t offset, std::span<std::byte const> bytes) {
        auto const slot = free_.back();
        free_.pop_back();
        offsets_[slot] = {offset, bytes.size()};
        queue_->submit(offset, bytes, slot);
    }

    void finish() {
        while (queue_->in_flight() > 0) reap();
    }

  private:
    void reap() {
        std::array<storage::Completion, kDepth> done;
        auto const count = queue_->reap(done, true);
        for (auto const& each : std::span(done).first(count)) {
            if (each.error != 0) {
                auto const& [offset, size_bytes] = offsets_[each.token];
                storage::fail_at("write", file_.path(), offset, size_bytes, each.error);
            }
            free_.push_back(each.token);
        }
    }

    storage::Storage& file_;
    std::vector<base::AlignedBuffer> buffers_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> offsets_;
    std::vector<std::size_t> free_;
    std::unique_ptr<storage::WriteQueue> queue_; // last: it waits for what is in flight before the buffers go
};

// Whole blocks of the file that nobody else writes into.
struct Own {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

// Pages that are not of a contiguous array begin at a block, and so does what comes behind them.
Own own_blocks(ArrayPlan const& plan, Page const& page) {
    auto const end = page.offset + page.stored_bytes;
    if (plan.layout != Layout::contiguous || end == plan.base + plan.bytes()) {
        return {base::round_up(page.offset, kBlockBytes), base::round_up(end, kBlockBytes)};
    }
    return {base::round_up(page.offset, kBlockBytes), base::round_down(end, kBlockBytes)};
}

class PageWriter {
  public:
    PageWriter(storage::Storage& file, std::vector<Edge>& edges) : staging_(file), edges_(edges) {}

    // `fill(begin, out)` gives the bytes of the page from `begin` on.
    template <class Fill> void write(ArrayPlan const& plan, Page& page, Fill const& fill) {
        auto const own = own_blocks(plan, page);
        page.checksums.clear();
        for (auto const& piece : pieces_of(page.offset, page.stored_bytes)) {
            auto* const buffer = staging_.buffer();
            auto const first = base::round_down(piece.offset, kBlockBytes); // which lies at the buffer's beginning
            std::span const bytes(buffer + (piece.offset - first), piece.size_bytes);
            fill(piece.offset - page.offset, bytes);
            page.checksums.push_back(base::xxh3(bytes));
            write_piece(own, piece, buffer, first);
        }
    }

    // From a copy (OwnPart::copies).
    void write(ArrayPlan const& plan, Page& page, std::byte* copy) {
        auto const own = own_blocks(plan, page);
        bool const has_checksums = !page.checksums.empty();
        for (auto const& piece : pieces_of(page.offset, page.stored_bytes)) {
            staging_.wait_for_slot();
            auto* const data = copy + (piece.offset - page.offset);
            if (!has_checksums) page.checksums.push_back(base::xxh3({data, piece.size_bytes}));
            auto const first = base::round_down(piece.offset, kBlockBytes);
            write_piece(own, piece, data - (piece.offset - first), first);
        }
    }

    void finish() { staging_.finish(); }

  private:
    void write_piece(Own const& own, Piece const& piece, std::byte* buffer, std::uint64_t first) {
        auto const end = piece.offset + piece.size_bytes;
        auto const begin_here = std::max(own.begin, first);
        auto const end_here = std::min(own.end, base::round_up(end, kBlockBytes));
        if (begin_here >= end_here) return keep_edge(piece.offset, end, buffer, first);
        keep_edge(piece.offset, std::min(begin_here, end), buffer, first);
        keep_edge(std::max(end_here, piece.offset), end, buffer, first);
        if (end_here > end) std::memset(buffer + (end - first), 0, end_here - end);
        staging_.submit(begin_here, {buffer + (begin_here - first), end_here - begin_here});
    }

    void keep_edge(std::uint64_t begin, std::uint64_t end, std::byte const* buffer, std::uint64_t first) {
        if (begin < end) edges_.push_back({begin, Bytes(buffer + (begin - first), buffer + (end - first))});
    }

    Staging staging_;
    std::vector<Edge>& edges_;
};

} // namespace

std::vector<Edge> write_pages(storage::Storage& file, std::vector<ArrayPlan> const& plans,
                              std::vector<OwnPart>& parts) {
    std::vector<Edge> edges;
    PageWriter writer(file, edges);
    for (auto& own : parts) {
        auto const& plan = plans[own.array];
        for (std::size_t i = 0; i < own.part.pages.size(); ++i) {
            auto& page = own.part.pages[i];
            if (page.encoded) {
                writer.write(plan, page, [&](std::uint64_t begin, std::span<std::byte> out) {
                    std::memcpy(out.data(), own.encoded[i].data() + begin, out.size());
                });
                own.encoded[i] = {};
                continue;
            }
            if (!own.copies.empty()) {
                writer.write(plan, page, own.copies[i].data());
                continue;
            }
            Overlap const overlap(page.box, own.shape_of(page), own.memory, plan.element_bytes());
            writer.write(plan, page,
                         [&](std::uint64_t begin, std::span<std::byte> out) { overlap.to_page(begin, out); });
        }
    }
    writer.finish();
    return edges;
}

} // namespace thalweg::checkpoint
