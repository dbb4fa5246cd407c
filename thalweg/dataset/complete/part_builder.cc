#include "thalweg/dataset/complete/part_builder.h"

#include <algorithm>
#include <limits>

#include "thalweg/base/assert.h"
#include "thalweg/dataset/complete/cluster_keeper.h"
#include "thalweg/dataset/complete/whole_rows.h"

namespace thalweg::dataset {

PartBuilder::PartBuilder(model::RunHead const& head, std::uint32_t number, ProducerFacts& facts,
                         storage::Storage const& file, storage::Storage const& journal)
    : head_(head), facts_(facts), file_(file), journal_(journal), columns_(head.columns[facts.table]),
      layout_(head.layouts[facts.table]), table_(head.schema.tables[facts.table].name) {
    part_.producer = number;
    for (std::size_t i = 0; i < columns_.size(); ++i)
        part_.columns.push_back(merged(std::move(facts.pages[i]), std::move(facts.waiting[i])));
    if (layout_.cluster_bytes > 0) number_clusters();
}

// Puts the pages of a column in the order of their clusters, also if rows wait in between.
void PartBuilder::number_clusters() {
    for (auto& pages : part_.columns) {
        auto cluster = facts_.seen.rows;
        for (auto& page : pages) {
            if (page.place == Page::Place::journal) page.cluster = cluster;
            cluster = page.cluster;
        }
    }
}

void PartBuilder::order_clusters(std::uint64_t rank) {
    THALWEG_ASSERT(rank < std::uint64_t{1} << 32, "the order of a cluster has room for the rank of its group");
    for (std::size_t i = 0; i < part_.clusters.size(); ++i) part_.clusters[i].order = rank << 32 | i;
}

Ranges PartBuilder::whole_rows(model::Part const& some, std::vector<std::uint64_t> const& starts) {
    return WholeRows{columns_, layout_, some, file_, journal_, table_, notes_, starts}.find();
}

bool PartBuilder::has_gap() const {
    return has_cut_ || part_.rows.size() > 1 || (part_.rows.size() == 1 && part_.rows[0].first > facts_.seen.rows);
}

// Returns the rows that are whole, and not cut to blocks.
Ranges PartBuilder::uncut_rows() {
    return layout_.cluster_bytes > 0 ? part_.rows : whole_rows(part_, facts_.seen.items);
}

void PartBuilder::keep_all() {
    bool const has_died = !facts_.finish || facts_.finish->died != 0;
    keep({{0, has_died ? std::numeric_limits<std::uint64_t>::max() : facts_.finish->rows}});
    if (has_died && facts_.finish && has_gap()) keep_up_to_gap(facts_.finish->rows);
}

// A process that dies within an append may have announced whole rows behind those that it had published. Readers of the
// open run may have seen the ones up to the next gap, so these stay. Those behind the gap go: pages are announced in
// the order in which their writes end, and what is missing never comes.
void PartBuilder::keep_up_to_gap(std::uint64_t published) {
    auto const rows = uncut_rows();
    auto end = std::max(published, facts_.seen.rows);
    for (auto const& range : rows) {
        if (range.first <= end) end = std::max(end, range.first + range.count);
    }
    if (!rows.empty() && rows.back().first > end) keep({{0, end}});
}

void PartBuilder::keep_beginning() {
    keep_all();
    if (!has_gap()) return;
    auto rows = uncut_rows();
    bool const begins = !rows.empty() && rows.front().first == facts_.seen.rows;
    rows.resize(begins ? 1 : 0);
    keep(rows);
}

// Returns how many rows were durable, from the first on that is not seen. Their pages are read once more, so this is
// only asked if there are gaps.
std::uint64_t PartBuilder::durable_rows() {
    model::Part durable;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        auto& pages = durable.columns.emplace_back();
        for (auto page : part_.columns[i]) {
            if (page.first >= facts_.durable_items[i]) break;
            page.count = std::min(page.count, facts_.durable_items[i] - page.first);
            pages.push_back(page);
        }
    }
    auto notes = notes_;
    auto const rows = whole_rows(durable, facts_.seen.items);
    notes_ = std::move(notes); // each problem is said once
    return rows.empty() || rows.front().first != facts_.seen.rows ? 0 : rows.front().count;
}

// A gap costs the rest of its block: either the rows in front of it that begin the block, or all rows behind it. As a
// rule the fewest rows go; but those that were durable stay, whatever a power cut has left behind them.
Ranges PartBuilder::blocks_of(Ranges const& valid) {
    auto kept = keep_blocks(valid, layout_.block_rows);
    if (total(kept) == total(valid) || valid.front().first != facts_.seen.rows) return kept;
    auto const& first = valid.front();
    if (contains(kept, first.first, first.count) || contains(kept, first.first, std::min(durable_rows(), first.count)))
        return kept;
    return {first};
}

void PartBuilder::keep(Ranges const& counted) {
    notes_.clear();
    part_.rows.clear();
    if (layout_.cluster_bytes > 0) {
        auto const find_whole = [&](model::Part const& some, std::vector<std::uint64_t> const& starts) {
            return whole_rows(some, starts);
        };
        part_.clusters = ClusterKeeper(facts_, columns_, part_, table_, counted).keep(find_whole, notes_);
        for (auto const& cluster : part_.clusters) append_range(part_.rows, cluster.first_row, cluster.rows);
    } else {
        auto const valid = whole_rows(part_, facts_.seen.items);
        auto const rows = facts_.kept ? intersect(intersect(valid, counted), *facts_.kept) : intersect(valid, counted);
        part_.rows = blocks_of(rows);
        has_cut_ = total(part_.rows) != total(rows);
    }
}

} // namespace thalweg::dataset
