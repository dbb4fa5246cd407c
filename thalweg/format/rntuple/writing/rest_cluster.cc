#include "thalweg/format/rntuple/writing/rest_cluster.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/codec/codec.h"
#include "thalweg/format/cluster_items.h"

namespace thalweg::format::rntuple {

// The pages of one column in one cluster: full pages with items of any producer, and a last one that is not full.
class RestCluster::ColumnPages {
  public:
    ColumnPages(model::Column const& column, model::ColumnLayout const& layout, BlobWriter& writer)
        : column_(column), page_items_(layout.page_items),
          codec_(codec::make_codec(layout.codec, model::size_bytes(column.scalar))), writer_(writer) {}

    void add(ItemReader& reader, std::span<model::Page const> from, model::RowRange const& items) {
        for (std::uint64_t done = 0; done < items.count;) {
            THALWEG_ASSERT(items_ < page_items_, "a page that is full is ended");
            auto const count = std::min(items.count - done, page_items_ - items_);
            auto const begin = items_ * column_.item_bytes();
            raw_.resize(begin + count * column_.item_bytes());
            reader.read(from, items.first + done, count, std::span(raw_).subspan(begin));
            items_ += count;
            done += count;
            if (items_ == page_items_) end_page();
        }
    }

    // As `add`, but whole pages of the file stay where they lie.
    void keep(ItemReader& reader, std::span<model::Page const> from, model::RowRange const& items) {
        auto const end = items.first + items.count;
        auto first = items.first; // of those that are not added yet
        for (auto const& page : from) {
            if (page.first < first || page.first + page.count > end || !is_whole(page)) continue;
            add(reader, from, {first, page.first - first});
            end_page();
            first = page.first;
            if (is_lengths() && page.sum_before != sum_) continue; // its sums are those of another cluster
            if (is_lengths()) sum_ += sum_of(reader, page);
            pages_.push_back(page);
            first = page.first + page.count;
        }
        add(reader, from, {first, end - first});
    }

    std::vector<model::Page> finish() {
        end_page();
        return std::move(pages_);
    }

  private:
    bool is_lengths() const { return column_.role == model::Column::Role::lengths; }

    bool is_whole(model::Page const& page) const {
        return page.place == model::Page::Place::file && page.skip == 0 &&
               page.raw_bytes == page.count * column_.item_bytes();
    }

    std::uint64_t sum_of(ItemReader& reader, model::Page const& page) const {
        std::vector<std::uint64_t> lengths(page.count * column_.values_per_item);
        reader.read({&page, 1}, page.first, page.count, std::as_writable_bytes(std::span(lengths)));
        return std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0});
    }

    void end_page() {
        if (items_ == 0) return;
        THALWEG_ASSERT(raw_.size() == items_ * column_.item_bytes(), "a page has the bytes of its items");
        if (is_lengths()) to_sums();
        stored_.resize(codec_->bound_bytes(raw_.size()));
        model::Page page;
        page.count = std::exchange(items_, 0);
        page.stored_bytes = codec_->encode(raw_, stored_);
        page.offset = writer_.add_page(std::span(stored_).first(page.stored_bytes)).offset;
        pages_.push_back(page);
        raw_.clear();
    }

    void to_sums() {
        std::span const values(reinterpret_cast<std::uint64_t*>(raw_.data()), raw_.size() / sizeof sum_);
        for (auto& value : values) value = sum_ += value;
    }

    model::Column const& column_;
    std::uint64_t page_items_;
    std::unique_ptr<codec::Codec> codec_;
    BlobWriter& writer_;
    std::vector<std::byte> raw_; // of the page that is being filled
    std::vector<std::byte> stored_;
    std::uint64_t items_ = 0;
    std::uint64_t sum_ = 0;
    std::vector<model::Page> pages_;
};

namespace {

std::uint64_t items_in(std::vector<model::Page> const& pages) {
    return std::accumulate(pages.begin(), pages.end(), std::uint64_t{0},
                           [](std::uint64_t sum, model::Page const& page) { return sum + page.count; });
}

} // namespace

RestCluster::RestCluster(storage::Storage const& file, storage::Storage const& journal, std::string const& table,
                         std::vector<model::Column> const& columns, model::TableLayout const& layout,
                         BlobWriter& writer)
    : columns_(columns), layout_(layout), writer_(writer) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
        readers_.emplace_back(std::in_place, file, journal, columns[i], layout.columns[i].codec,
                              fmt::format("table '{}', column '{}'", table, columns[i].path));
    }
}

void RestCluster::add(model::Part const& part, model::Cluster const& cluster) {
    pieces_.push_back({&part, items_of_cluster(columns_, part, cluster, readers_)});
    rows_ += cluster.rows;
    for (std::size_t i = 0; i < columns_.size(); ++i)
        raw_bytes_ += pieces_.back().items[i].count * columns_[i].item_bytes();
}

void RestCluster::clear() {
    pieces_.clear();
    rows_ = raw_bytes_ = 0;
}

ClusterDescription RestCluster::write(ClusterDescriber& describer, bool keeps_pages) {
    std::vector<std::vector<model::Page>> pages;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        ColumnPages column(columns_[i], layout_.columns[i], writer_);
        for (auto const& [part, items] : pieces_) {
            auto const& from = part->columns[i];
            keeps_pages ? column.keep(*readers_[i], from, items[i]) : column.add(*readers_[i], from, items[i]);
        }
        pages.push_back(column.finish());
        THALWEG_ASSERT(columns_[i].parent || items_in(pages.back()) == rows_,
                       "a column of rows has an item for each row");
    }
    std::vector<std::span<model::Page const>> const spans(pages.begin(), pages.end());
    auto const rows = rows_;
    clear();
    return describer.describe(rows, spans);
}

} // namespace thalweg::format::rntuple
