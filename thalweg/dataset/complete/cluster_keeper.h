// Which clusters of a producer a table may keep.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "thalweg/dataset/complete/journal_facts.h"

namespace thalweg::dataset {

// Those that ended with all their pages, and one more: what is whole, without a gap, of the rows behind the first of
// them. They are in a cluster that was never ended, or in one that lost pages with the power, while the journal still
// has its rows. Behind a gap nobody knows which elements belong to the rows of no whole cluster: those are lost.
class ClusterKeeper {
  public:
    // The whole rows of some pages, which begin with these items (by column).
    using FindWhole = std::function<Ranges(model::Part const& some, std::vector<std::uint64_t> const& starts)>;

    // `counted`: the rows that may be kept.
    ClusterKeeper(ProducerFacts const& producer, std::vector<model::Column> const& columns, model::Part const& part,
                  std::string const& table, Ranges const& counted);

    std::vector<model::Cluster> keep(FindWhole const& find_whole, std::vector<std::string>& notes) const;

  private:
    void keep_rest(FindWhole const& find_whole, std::vector<model::Cluster>& clusters) const;
    void note_left_out(std::vector<model::Cluster> const& kept, std::vector<std::string>& notes) const;

    ProducerFacts const& producer_;
    std::vector<model::Column> const& columns_;
    model::Part const& part_;
    std::string const& table_;
    std::vector<model::Cluster> whole_;
    std::size_t in_front_ = 0; // so many of them are in front of the rest,
    std::uint64_t begin_ = 0;  // which has the rows from here
    std::uint64_t end_;        // to here
};

} // namespace thalweg::dataset
