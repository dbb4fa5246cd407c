#include "thalweg/format/hdf5/ours/value_parts.h"

#include <map>
#include <string>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/format/hdf5/dataset_paths.h"

namespace thalweg::format::hdf5::ours {
namespace {

// How the values of a column are dealt out: a dataset for each producer with a page or more, and one for all others.
class ValuePartsWriter {
  public:
    ValuePartsWriter(FilePlan& plan, Dataset const& dataset, std::vector<ItemSpan> const& spans,
                     PagesByPart const& pages)
        : plan_(plan), dataset_(dataset), pages_(pages), items_(pages.size()),
          own_(pages.size()), whole_{dataset.path, dataset.scalar, dataset.shape, dataset.items, {}} {
        for (auto const& span : spans) items_[span.part] += span.count;
        for (auto const& span : spans) is_large(span.part) ? add_own(span) : gather(span);
    }

    // No producer has a page: their items are in the order of the table, one behind the other.
    bool all_gathered() const { return gathered_items_ == dataset_.items; }

    void lay_out(ItemReader& reader, Appender& appender) {
        for (std::size_t part = 0; part < own_.size(); ++part) {
            if (own_[part].empty()) continue;
            auto const items = own_[part].back().first + own_[part].back().count;
            lay_out(part_path(dataset_.path, part), items, own_[part], {pages_[part]}, reader, appender);
        }
        if (gathered_items_ > 0) {
            lay_out(gathered_path(dataset_.path), gathered_items_, gathered_, pages_, reader, appender);
        }
        for (auto& mapping : whole_.mappings) {
            mapping.source_items = source_items_.at(mapping.source);
            THALWEG_ASSERT(mapping.first + mapping.count <= mapping.source_items,
                           "a mapping shows items of its source");
        }
        plan_.virtual_datasets.push_back(std::move(whole_));
    }

  private:
    bool is_large(std::size_t part) const { return items_[part] >= dataset_.page_items; }

    void add_own(ItemSpan const& span) {
        own_[span.part].push_back({0, span.first, span.count, span.first});
        whole_.mappings.push_back({part_path(dataset_.path, span.part), 0, span.first, span.count, span.at});
        mapping_is_gathered_ = false;
    }

    void gather(ItemSpan const& span) {
        gathered_.push_back({span.part, span.first, span.count, gathered_items_});
        if (std::exchange(mapping_is_gathered_, true)) {
            whole_.mappings.back().count += span.count;
        } else {
            whole_.mappings.push_back({gathered_path(dataset_.path), 0, gathered_items_, span.count, span.at});
        }
        gathered_items_ += span.count;
    }

    void lay_out(std::string path, std::uint64_t items, std::vector<ItemSpan> const& spans, PagesByPart const& pages,
                 ItemReader& reader, Appender& appender) {
        auto piece = dataset_;
        piece.path = std::move(path);
        piece.items = items;
        lay_on_grid(piece, spans, pages, reader, appender);
        source_items_[piece.path] = items;
        plan_.datasets.push_back(std::move(piece));
    }

    FilePlan& plan_;
    Dataset const& dataset_;
    PagesByPart const& pages_;
    std::vector<std::uint64_t> items_;       // by part
    std::vector<std::vector<ItemSpan>> own_; // by part
    std::vector<ItemSpan> gathered_;
    std::uint64_t gathered_items_ = 0;
    VirtualDataset whole_;
    bool mapping_is_gathered_ = false; // the last one
    std::map<std::string, std::uint64_t> source_items_;
};

} // namespace

void lay_out_parts(FilePlan& plan, Dataset dataset, std::vector<ItemSpan> const& spans, PagesByPart const& pages,
                   ItemReader& reader, Appender& appender) {
    ValuePartsWriter parts(plan, dataset, spans, pages);
    bool const is_one_part = spans.size() == 1 && spans[0].first == 0;
    if (!is_one_part && !parts.all_gathered()) return parts.lay_out(reader, appender);
    lay_on_grid(dataset, spans, pages, reader, appender);
    plan.datasets.push_back(std::move(dataset));
}

} // namespace thalweg::format::hdf5::ours
