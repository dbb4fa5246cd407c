#include "thalweg/dataset/commit/unit_collector.h"

#include <algorithm>

#include "thalweg/base/assert.h"

namespace thalweg::dataset {

void UnitCollector::take(ProducerIntake& producer, UnitTable const& table) {
    for (auto const& rows : producer.take_units()) {
        auto const [found, is_new] = order_.try_emplace(rows.entry, seen_);
        if (is_new) pending_[seen_++] = {rows.entry, rows.after_ns, {}};
        auto& unit = pending_.at(found->second);
        unit.after_ns = std::min(unit.after_ns, rows.after_ns);
        unit.parts.emplace_back(producer.number(), rows);
        if (unit.parts.size() < table.parts(rows.entry)) continue;
        unit.complete = ++complete_;
        count_rows(unit);
    }
    for (auto const& end : producer.take_cluster_ends()) cluster_ends_.emplace_back(producer.table(), end);
}

std::uint64_t UnitCollector::after_ns(std::uint64_t limit_ns) const {
    for (auto const& [order, unit] : pending_) limit_ns = std::min(limit_ns, unit.after_ns);
    return limit_ns;
}

void UnitCollector::count_rows(Pending const& unit) {
    for (auto const& [producer, part] : unit.parts) {
        auto& rows = rows_[producer];
        rows.behind[part.first_row] += part.rows;
        while (!rows.behind.empty() && rows.behind.begin()->first <= rows.end) {
            rows.end += rows.behind.begin()->second;
            rows.behind.erase(rows.behind.begin());
        }
    }
}

std::vector<UnitCollector::ClusterEnd> UnitCollector::journal_cluster_ends(JournalWriter& journal) {
    std::vector<ClusterEnd> journaled;
    std::erase_if(cluster_ends_, [&](auto const& each) {
        auto const& end = each.second;
        if (rows_[end.producer].end < end.first + end.count) return false;
        journal.append(RecordType::pages, end);
        journaled.push_back(each);
        return true;
    });
    return journaled;
}

void UnitCollector::flush_ended() {
    // They become complete nearly in their order: one that waits for a slow part keeps those behind it for a while.
    while (!pending_.empty()) {
        auto const& unit = pending_.begin()->second;
        if (unit.complete == 0 || unit.complete > flushing_) break;
        order_.erase(unit.entry);
        pending_.erase(pending_.begin());
        ++durable_;
        THALWEG_ASSERT(durable_ <= complete_, "a unit is complete before it is durable");
    }
}

} // namespace thalweg::dataset
