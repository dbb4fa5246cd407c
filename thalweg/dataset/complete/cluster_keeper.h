// Which clusters of a producer a table may keep.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "thalweg/dataset/complete/journal_facts.h"

namespace thalweg::dataset {

// Those that ended with all their pages, and between and behind them, up to the first gap, rows that are whole all the
// same: of clusters that were never ended, or that lost pages with the power while the journal still has their rows.
// Behind a gap it is not known which elements belong to rows that are in no whole cluster: those are lost.
class ClusterKeeper {
  public:
    // The whole rows of some pages, which begin with these items (by column).
    using FindWhole = std::function<Ranges(model::Part const& some, std::vector<std::uint64_t> const& starts)>;

    // `counted`: the rows that may be kept.
    ClusterKeeper(ProducerFacts const& producer, std::vector<model::Column> const& columns, model::Part const& part,
                  std::string const& table, Ranges const& counted);

    std::vector<model::Cluster> keep(FindWhole const& find_whole, std::vector<std::string>& notes) const;

  private:
    std::uint64_t rows_there(FindWhole const& find_whole, model::RowRange rows,
                             std::vector<model::Cluster> const& in_front) const;
    void note_left_out(std::vector<model::Cluster> const& kept, bool is_behind_gap,
                       std::vector<std::string>& notes) const;

    ProducerFacts const& producer_;
    std::vector<model::Column> const& columns_;
    model::Part const& part_;
    std::string const& table_;
    std::vector<model::Cluster> whole_;
    Ranges counted_;
};

} // namespace thalweg::dataset
