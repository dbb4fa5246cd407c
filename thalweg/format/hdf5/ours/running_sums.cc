#include "thalweg/format/hdf5/ours/running_sums.h"

#include <algorithm>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/dataset_paths.h"

namespace thalweg::format::hdf5::ours {
namespace {

std::span<std::byte const> bytes_of(std::vector<std::uint64_t> const& values) {
    return std::as_bytes(std::span(values));
}

// Adds a span to those before, or prolongs the last.
void push(std::vector<ItemSpan>& spans, ItemSpan const& span) {
    if (span.count == 0) return;
    if (!spans.empty()) {
        auto& last = spans.back();
        if (last.part == span.part && last.first + last.count == span.first) {
            last.count += span.count;
            return;
        }
    }
    spans.push_back(span);
}

class Adder {
  public:
    Adder(Dataset& dataset, PagesByPart const& pages, ItemReader& reader, Appender& appender)
        : dataset_(dataset), pages_(pages), reader_(reader), encoder_(dataset, appender),
          values_per_item_(dataset.item_bytes / sizeof(std::uint64_t)), parts_(pages.size()) {
        sums_.reserve(dataset.page_items * values_per_item_);
    }

    // Items and their elements before which a producer stands.
    struct Position {
        std::uint64_t item = 0;
        std::uint64_t element = 0;
    };

    ItemSpan add(ItemSpan const& span) {
        auto& position = parts_[span.part];
        THALWEG_ASSERT(position.item <= span.first, "the spans of a part ascend");
        advance(span.part, span.first, false); // what was dropped in between counts for the elements, too
        ItemSpan const elements{span.part, position.element, 0, total_};
        advance(span.part, span.first + span.count, true);
        return {span.part, elements.first, position.element - elements.first, elements.at};
    }

    void finish() {
        if (sums_.empty()) return;
        sums_.resize(dataset_.page_items * values_per_item_);
        dataset_.pages.push_back(encoder_.append(bytes_of(sums_)));
    }

  private:
    void advance(std::size_t part, std::uint64_t end, bool keep) {
        auto& position = parts_[part];
        while (position.item < end) {
            auto const count = std::min(end - position.item, dataset_.page_items);
            lengths_.resize(count * values_per_item_);
            reader_.read(pages_[part], position.item, count, std::as_writable_bytes(std::span(lengths_)));
            for (auto const length : lengths_) {
                position.element += length;
                if (keep) keep_length(length);
            }
            position.item += count;
        }
    }

    void keep_length(std::uint64_t length) {
        sums_.push_back(total_ += length);
        if (sums_.size() < dataset_.page_items * values_per_item_) return;
        dataset_.pages.push_back(encoder_.append(bytes_of(sums_)));
        sums_.clear();
    }

    Dataset& dataset_;
    PagesByPart const& pages_;
    ItemReader& reader_;
    ChunkEncoder encoder_;
    std::uint64_t values_per_item_;
    std::vector<Position> parts_;
    std::vector<std::uint64_t> lengths_;
    std::vector<std::uint64_t> sums_; // of the page that is being filled
    std::uint64_t total_ = 0;
};

} // namespace

std::vector<ItemSpan> add_up_lengths(Dataset& dataset, std::vector<ItemSpan> const& spans, PagesByPart const& pages,
                                     ItemReader& reader, Appender& appender) {
    Adder adder(dataset, pages, reader, appender);
    std::vector<ItemSpan> elements;
    for (auto const& span : spans) push(elements, adder.add(span));
    adder.finish();
    return elements;
}

} // namespace thalweg::format::hdf5::ours
