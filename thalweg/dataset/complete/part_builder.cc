#include "thalweg/dataset/complete/part_builder.h"

#include <limits>

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

// So that the pages of a column are in the order of their clusters, also where rows wait in between.
void PartBuilder::number_clusters() {
    for (auto& pages : part_.columns) {
        std::uint64_t cluster = 0;
        for (auto& page : pages) {
            if (page.place == Page::Place::journal) page.cluster = cluster;
            cluster = page.cluster;
        }
    }
}

Ranges PartBuilder::whole_rows(model::Part const& some, std::vector<std::uint64_t> const& starts) {
    return WholeRows{columns_, layout_, some, file_, journal_, table_, notes_, starts}.find();
}

void PartBuilder::keep_all() {
    keep({{0, facts_.finish ? facts_.finish->rows : std::numeric_limits<std::uint64_t>::max()}});
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
        auto const valid = whole_rows(part_, std::vector<std::uint64_t>(columns_.size()));
        part_.rows = keep_blocks(intersect(valid, counted), layout_.block_rows);
    }
}

} // namespace thalweg::dataset
