// Which clusters of a producer a table may keep.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/dataset/journal_facts.h"

namespace thalweg::dataset {

// Those that ended with all their pages, and of the rows behind them those that are whole. Where some page is missing
// nobody knows which elements the rows behind the last end begin with: they are lost.
class ClusterKeeper {
  public:
    ClusterKeeper(ProducerFacts const& producer, model::Part const& part, std::string const& table);

    std::vector<model::Cluster> ended(std::vector<std::string>& notes);

    // The next three are asked after `ended`. There may be rows that are in no ended cluster:
    bool has_rest() const;
    // what lies behind the last end, and the items it begins with;
    std::pair<model::Part, std::vector<std::uint64_t>> rest(std::vector<model::Column> const& columns) const;
    // those that are whole.
    std::optional<model::Cluster> last(Ranges const& whole) const;

  private:
    ProducerFacts const& producer_;
    model::Part const& part_;
    std::string const& table_;
    std::map<std::uint64_t, std::uint64_t> pages_; // by cluster
    std::uint64_t end_ = 0;
    bool damaged_ = false;
};

} // namespace thalweg::dataset
