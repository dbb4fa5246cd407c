#include "thalweg/dataset/complete/growing_facts.h"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <set>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/format/cluster_items.h"

namespace thalweg::dataset {
namespace {

using Identities = std::vector<base::FileIdentity>;

// Returns nothing if one of them is gone.
std::optional<Identities> identities_of(std::vector<RunPlace> const& places) {
    Identities identities;
    for (auto const& place : places) {
        auto const identity = base::identity_of(place.journal());
        if (!identity) return std::nullopt;
        identities.push_back(*identity);
    }
    return identities;
}

// Returns the end of the rows up to which nothing of a producer is needed any more: later rows count with those of
// their block.
std::uint64_t end_of_seen(model::Part const& part, model::TableLayout const& layout, ProducerFacts const& producer) {
    auto const begin = producer.seen.rows;
    if (part.rows.size() != 1 || part.rows.front().first != begin) return begin;
    auto const end = begin + part.rows.front().count;
    if (layout.cluster_bytes == 0) {
        bool const is_all = producer.finish && producer.finish->died == 0 && producer.finish->rows == end;
        return is_all ? end : std::max(begin, end / layout.block_rows * layout.block_rows);
    }
    auto row = begin;
    for (auto const& cluster : part.clusters) {
        if (!cluster.whole || cluster.first_row != row) break;
        row += cluster.rows;
    }
    return row;
}

// Returns, by column, the items of the rows in front of the cluster that begins with `row`.
std::vector<std::uint64_t> items_of_clusters(model::Part const& part, std::vector<model::Column> const& columns,
                                             std::uint64_t row, std::vector<std::uint64_t> items) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (!columns[i].parent) items[i] = row;
        for (auto const& page : part.columns[i]) {
            if (columns[i].parent && page.place == Page::Place::file && page.cluster < row)
                items[i] = std::max(items[i], page.first + page.count);
        }
    }
    return items;
}

} // namespace

GrowingFacts::GrowingFacts(std::string path, Journals journals, Identities identities)
    : path_(std::move(path)), journals_(std::move(journals)), identities_(std::move(identities)),
      positions_(journals_.size()), rows_(std::make_shared<JournalRows>(journals_.front().main->path())) {
    for (auto const& each : journals_) nodes_.emplace_back(each);
}

std::unique_ptr<GrowingFacts> GrowingFacts::of(std::string const& path) {
    try {
        auto const places = places_of_run(path);
        auto const before = identities_of(places);
        if (places.empty() || !before) return nullptr;
        auto journals = open_journals(places, storage::OpenMode::read_only);
        bool const is_begun =
            std::ranges::all_of(journals, [](auto const& each) { return each.start()->kind == JournalKind::journal; });
        if (!is_begun || identities_of(places) != before) return nullptr;
        return std::unique_ptr<GrowingFacts>(new GrowingFacts(path, std::move(journals), *before));
    } catch (base::SystemError const& error) {
        if (error.code != ENOENT) throw;
        return nullptr; // closed just now
    }
}

bool GrowingFacts::is_current() const { return identities_of(places_of_run(path_)) == identities_; }

// A recovery after a power cut cuts off what is not whole, and goes on there.
bool GrowingFacts::has_shrunk() const {
    for (std::size_t i = 0; i < journals_.size(); ++i) {
        if (journals_[i].main->size() < positions_[i].end_offset) return true;
    }
    return false;
}

void GrowingFacts::drop_seen() {
    std::set<storage::Storage const*> there;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        there.insert(journals_[i].main.get());
        for (auto const& [number, segment] : positions_[i].segments) there.insert(segment.file.get());
    }
    for (auto& node : nodes_)
        node.journal.drop_seen([&](std::uint64_t address) { return !there.contains(rows_->segment_of(address)); });
}

// Lets go of the segments that are not needed any more. Readers of earlier looks have the rows as they were.
void GrowingFacts::drop_rows() {
    std::vector<std::uint64_t> addresses;
    for (auto const& node : nodes_) {
        for (auto const& [number, producer] : node.journal.producers) {
            for (auto const& column : producer.waiting) {
                for (auto const& rows : column) addresses.push_back(rows.offset);
            }
        }
    }
    std::ranges::sort(addresses);
    rows_ = rows_->with_only(addresses);
}

// Returns false if what is kept does not hold any more.
bool GrowingFacts::read_on() {
    for (int tries = 0; tries <= kTriesForSegments; ++tries) {
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            auto const taken_back = nodes_[i].journal.taken_back;
            nodes_[i].read(journals_[i], *rows_, &positions_[i]);
            is_broken_ = is_broken_ || (!is_first_ && nodes_[i].journal.taken_back != taken_back);
            is_broken_ = is_broken_ || (!nodes_[i].damage.reason.empty() && !nodes_[i].damage.is_at_end);
        }
        if (std::ranges::all_of(nodes_, [](auto const& node) { return node.missing.empty(); })) break;
        if (tries == kTriesForSegments) is_broken_ = true;
    }
    return is_first_ || !is_broken_;
}

Gathered const* GrowingFacts::look(storage::Storage const& file) {
    gathered_.reset();
    if (!is_current() || (!is_first_ && is_broken_) || has_shrunk()) return nullptr;
    drop_rows();
    if (!read_on()) return nullptr;
    drop_seen(); // pages, too, of rows that were seen as rows of the journal
    auto nodes = nodes_;
    gathered_ = put_together(nodes, rows_, file, RunState::open);
    is_first_ = false;
    return &*gathered_;
}

// Numbers of producers are given as in `put_together`: those of a node follow those of the node in front of it.
ProducerFacts& GrowingFacts::producer_of(std::uint32_t number) {
    std::uint32_t first = 0;
    for (auto& node : nodes_) {
        auto& producers = node.journal.producers;
        if (producers.empty()) continue;
        auto const end = first + producers.rbegin()->first + 1;
        if (number < end) return producers.at(number - first);
        first = end;
    }
    base::fail_data({fmt::format("{}: producer {} is not known", path_, number)});
}

void GrowingFacts::forget(model::Part const& part, std::size_t table, storage::Storage const& file) {
    auto& producer = producer_of(part.producer);
    auto const& layout = gathered_->head.layouts[table];
    auto const& columns = gathered_->head.columns[table];
    auto const end = end_of_seen(part, layout, producer);
    if (producer.of_units || producer.kept || end == producer.seen.rows) return;
    auto& items = producer.seen.items;
    auto now = items;
    if (layout.cluster_bytes > 0) now = items_of_clusters(part, columns, end, std::move(now));
    for (std::size_t i = 0; i < columns.size() && layout.cluster_bytes == 0; ++i) {
        if (!columns[i].parent) now[i] = end;
        if (columns[i].role != model::Column::Role::lengths) continue;
        format::ItemReader reader(file, *gathered_->rows, columns[i], layout.columns[i].codec,
                                  fmt::format("{}: column '{}'", path_, columns[i].path));
        auto const elements =
            format::sum_of_lengths(reader, part.columns[i], columns[i], {items[i], now[i] - items[i]});
        for (std::size_t inside = i + 1; inside < columns.size(); ++inside) {
            if (columns[inside].parent == i) now[inside] = items[inside] + elements;
        }
    }
    items = std::move(now);
    producer.seen.rows = end;
}

void GrowingFacts::forget_seen(storage::Storage const& file) {
    THALWEG_ASSERT(gathered_.has_value(), "what is forgotten was shown before");
    for (std::size_t table = 0; table < gathered_->facts.tables.size(); ++table) {
        for (auto const& part : gathered_->facts.tables[table]) {
            try {
                forget(part, table, file);
            } catch (base::Error const&) { // of lengths that cannot be read all is kept: who reads the rows is told
            }
        }
    }
    gathered_.reset();
    drop_seen();
    drop_rows();
}

} // namespace thalweg::dataset
