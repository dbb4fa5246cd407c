// The committer's view of the work units: which are complete, with all their rows in the journal, and which are
// durable.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "thalweg/dataset/commit/intake.h"
#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/run/unit_table.h"

namespace thalweg::dataset {

class UnitCollector {
  public:
    // So many units of this file were in the journal before.
    void start_behind(std::uint64_t units) { known_ = units; }

    // Units of this producer whose rows are journaled, and ends of clusters that hold units.
    void take(ProducerIntake& producer, UnitTable const& table);

    // Journals the ends of clusters all of whose units are complete, each behind these: so a cluster is published, and
    // has its place among the clusters, when its rows count. Of a unit that was never committed they stay here. Returns
    // them with their table.
    using ClusterEnd = std::pair<std::size_t, PageRecord>;
    std::vector<ClusterEnd> journal_cluster_ends(JournalWriter& journal);

    // A flush makes durable what was complete when it began.
    void flush_begins() { flushing_ = complete_; }
    void flush_ended();

    // Returns how many of the keys in the table have durable units.
    std::uint64_t durable() const { return known_ + durable_; }
    // All units here that are not durable were committed later than that, at or after `limit_ns`.
    std::uint64_t after_ns(std::uint64_t limit_ns) const;

  private:
    struct Pending {
        UnitEntryId entry = 0;
        std::uint64_t after_ns = 0;                                            // it was committed later
        std::vector<std::pair<std::uint32_t, ProducerIntake::UnitRows>> parts; // with their producers
        std::uint64_t complete = 0; // the how-manyth it was; 0: it is not yet
    };
    // The rows of complete units that one producer has; they may come out of their order.
    struct Rows {
        std::uint64_t end = 0;                         // without a gap
        std::map<std::uint64_t, std::uint64_t> behind; // first row and rows
    };

    void count_rows(Pending const& unit);

    std::map<std::uint64_t, Pending> pending_;   // in the order in which they were seen
    std::map<UnitEntryId, std::uint64_t> order_; // key of the above
    std::map<std::uint32_t, Rows> rows_;         // by producer
    std::vector<ClusterEnd> cluster_ends_;
    std::uint64_t seen_ = 0, complete_ = 0, flushing_ = 0, durable_ = 0, known_ = 0;
};

} // namespace thalweg::dataset
