// Requests that cannot be answered yet, of all connections of one thread: thousands of them cost nothing while nothing
// moves, as only the first of each order is looked at.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "thalweg/readout/server/request.h"

namespace thalweg::readout {

struct PendingRequest {
    std::uint64_t id = 0;
    std::uint64_t connection = 0;
    Request request;
};

class PendingRequests {
  public:
    std::uint64_t add(std::uint64_t connection, Request const& request);
    // None where it does not wait any more.
    std::optional<PendingRequest> remove(std::uint64_t id);

    // The next that is due: a Get whose events are closed, or anything whose deadline has come.
    std::optional<PendingRequest> take_due(std::uint64_t closed_event, std::uint64_t now_ns);
    // The Take that is content with the fewest events: if there is nothing for it, there is nothing for any.
    PendingRequest const* easiest_take() const;
    // The oldest one that wants only what was left behind: they are all alike.
    PendingRequest const* take_of_left_behind() const;
    PendingRequest const* find(std::uint64_t id) const;
    std::vector<PendingRequest> take_all();

    bool empty() const { return pending_.empty(); }
    std::size_t size() const { return pending_.size(); }
    std::vector<std::uint64_t> takes() const; // ids, the easiest first, those of what was left behind last

  private:
    using Order = std::set<std::pair<std::uint64_t, std::uint64_t>>; // what counts, and the id
    std::map<std::uint64_t, PendingRequest> pending_;
    Order gets_by_end_;
    Order takes_by_min_count_;
    std::set<std::uint64_t> left_behind_; // ids
    Order by_deadline_;
    std::uint64_t next_id_ = 0;
};

} // namespace thalweg::readout
