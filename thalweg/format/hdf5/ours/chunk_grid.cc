#include "thalweg/format/hdf5/ours/chunk_grid.h"

#include <algorithm>

#include "thalweg/base/assert.h"

namespace thalweg::format::hdf5::ours {
namespace {

using model::Page;

Chunk as_it_lies(Page const& page) { return {page.offset, page.stored_bytes, page.checksum, page.encoded}; }

class Grid {
  public:
    Grid(Dataset& dataset, std::vector<ItemSpan> const& spans, PagesByPart const& pages, ItemReader& reader,
         Appender& appender)
        : dataset_(dataset), spans_(spans), pages_(pages), reader_(reader), appender_(appender),
          cursors_(pages.size(), 0) {}

    void fill() {
        auto const page_items = dataset_.page_items;
        dataset_.pages.reserve((dataset_.items + page_items - 1) / page_items);
        for (std::uint64_t at = 0; at < dataset_.items; at += page_items) {
            while (span_ < spans_.size() && spans_[span_].at + spans_[span_].count <= at) ++span_;
            auto const* page = whole_page(at);
            dataset_.pages.push_back(page != nullptr ? as_it_lies(*page) : gather(at));
        }
        THALWEG_ASSERT(dataset_.pages.size() == (dataset_.items + page_items - 1) / page_items,
                       "every place of the grid has its chunk");
    }

  private:
    // The page that is the chunk at `at` as it lies in the file, if there is one.
    Page const* whole_page(std::uint64_t at) {
        if (span_ == spans_.size() || spans_[span_].at > at) return nullptr;
        auto const& span = spans_[span_];
        auto const needed = std::min(dataset_.page_items, dataset_.items - at);
        if (span.at + span.count < at + needed) return nullptr;
        auto const* page = page_beginning(span.part, span.first + (at - span.at));
        if (page == nullptr || page->place != Page::Place::file || page->skip != 0 || page->count < needed)
            return nullptr;
        // A chunk has exactly the size of a page, and the page table tells by the stored size whether it is encoded.
        bool const chunk = page->raw_bytes == dataset_.page_bytes() && page->stored_bytes > 0 &&
                           page->encoded == (page->stored_bytes < page->raw_bytes);
        return chunk ? page : nullptr;
    }

    // Mostly the one behind the last.
    Page const* page_beginning(std::size_t part, std::uint64_t first) {
        auto const pages = pages_[part];
        auto& cursor = cursors_[part];
        if (cursor >= pages.size() || pages[cursor].first != first) {
            auto const found = std::lower_bound(pages.begin(), pages.end(), first,
                                                [](Page const& page, auto item) { return page.first < item; });
            cursor = static_cast<std::size_t>(found - pages.begin());
            if (cursor == pages.size() || pages[cursor].first != first) return nullptr;
        }
        return &pages[cursor++];
    }

    Chunk gather(std::uint64_t at) {
        auto const end = std::min(at + dataset_.page_items, dataset_.items);
        if (span_ == spans_.size() || spans_[span_].at >= end) return {};
        raw_.assign(dataset_.page_bytes(), std::byte{});
        for (auto i = span_; i < spans_.size() && spans_[i].at < end; ++i) {
            auto const& span = spans_[i];
            auto const from = std::max(span.at, at);
            auto const count = std::min(span.at + span.count, end) - from;
            auto const target = std::span(raw_).subspan((from - at) * dataset_.item_bytes, count * dataset_.item_bytes);
            reader_.read(pages_[span.part], span.first + (from - span.at), count, target);
        }
        if (!encoder_) encoder_.emplace(dataset_, appender_);
        return encoder_->append(raw_);
    }

    Dataset& dataset_;
    std::vector<ItemSpan> const& spans_;
    PagesByPart const& pages_;
    ItemReader& reader_;
    Appender& appender_;
    std::vector<std::size_t> cursors_; // by part
    std::size_t span_ = 0;             // the first that does not end before the chunk
    std::vector<std::byte> raw_;
    std::optional<ChunkEncoder> encoder_;
};

} // namespace

void lay_on_grid(Dataset& dataset, std::vector<ItemSpan> const& spans, PagesByPart const& pages, ItemReader& reader,
                 Appender& appender) {
    Grid(dataset, spans, pages, reader, appender).fill();
}

} // namespace thalweg::format::hdf5::ours
