// The requests of all connections of one thread that cannot be answered yet. Thousands of them cost nothing while
// nothing changes, because only the first one of each order is checked.
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
    // Returns the request, or nothing if it no longer waits.
    std::optional<PendingRequest> remove(std::uint64_t id);

    // Returns the next due request: a Get whose events are closed, or any request whose deadline has come.
    std::optional<PendingRequest> take_due(std::uint64_t closed_event, std::uint64_t now_ns);
    // Returns the Take that needs the fewest events: if there is nothing for it, there is nothing for any other.
    PendingRequest const* easiest_take() const;
    // Returns the oldest Take of events that were left behind; all of these are alike.
    PendingRequest const* take_of_left_behind() const;
    PendingRequest const* find(std::uint64_t id) const;
    std::vector<PendingRequest> take_all();

    bool empty() const { return pending_.empty(); }
    std::size_t size() const { return pending_.size(); }
    std::vector<std::uint64_t> takes() const; // ids, the easiest first; those of events that were left behind come last

  private:
    void check() const;

    using Order = std::set<std::pair<std::uint64_t, std::uint64_t>>; // the criterion, and the id
    std::map<std::uint64_t, PendingRequest> pending_;
    Order gets_by_end_;
    Order takes_by_min_count_;
    std::set<std::uint64_t> left_behind_; // ids
    Order by_deadline_;
    std::uint64_t next_id_ = 0;
};

} // namespace thalweg::readout
