#include "thalweg/readout/server/pending_requests.h"

#include "thalweg/base/assert.h"

namespace thalweg::readout {

std::uint64_t PendingRequests::add(std::uint64_t connection, Request const& request) {
    auto const id = next_id_++;
    pending_.emplace(id, PendingRequest{id, connection, request});
    if (request.type == MessageType::get)
        gets_by_end_.emplace(request.end(), id);
    else if (request.left_behind)
        left_behind_.insert(id);
    else
        takes_by_min_count_.emplace(request.min_count, id);
    by_deadline_.emplace(request.deadline_ns, id);
    check();
    return id;
}

std::optional<PendingRequest> PendingRequests::remove(std::uint64_t id) {
    auto const it = pending_.find(id);
    if (it == pending_.end()) return std::nullopt;
    auto const pending = it->second;
    pending_.erase(it);
    gets_by_end_.erase({pending.request.end(), id});
    takes_by_min_count_.erase({pending.request.min_count, id});
    left_behind_.erase(id);
    by_deadline_.erase({pending.request.deadline_ns, id});
    check();
    return pending;
}

void PendingRequests::check() const {
    THALWEG_ASSERT(by_deadline_.size() == pending_.size(), "every request has a deadline");
    THALWEG_ASSERT(gets_by_end_.size() + takes_by_min_count_.size() + left_behind_.size() == pending_.size(),
                   "every request is in one order besides");
}

std::optional<PendingRequest> PendingRequests::take_due(std::uint64_t closed_event, std::uint64_t now_ns) {
    if (!gets_by_end_.empty() && gets_by_end_.begin()->first <= closed_event)
        return remove(gets_by_end_.begin()->second);
    if (!by_deadline_.empty() && by_deadline_.begin()->first <= now_ns) return remove(by_deadline_.begin()->second);
    return std::nullopt;
}

PendingRequest const* PendingRequests::easiest_take() const {
    return takes_by_min_count_.empty() ? nullptr : &pending_.at(takes_by_min_count_.begin()->second);
}

PendingRequest const* PendingRequests::take_of_left_behind() const {
    return left_behind_.empty() ? nullptr : &pending_.at(*left_behind_.begin());
}

PendingRequest const* PendingRequests::find(std::uint64_t id) const {
    auto const it = pending_.find(id);
    return it == pending_.end() ? nullptr : &it->second;
}

std::vector<std::uint64_t> PendingRequests::takes() const {
    std::vector<std::uint64_t> ids;
    for (auto const& [min_count, id] : takes_by_min_count_) ids.push_back(id);
    ids.insert(ids.end(), left_behind_.begin(), left_behind_.end());
    return ids;
}

std::vector<PendingRequest> PendingRequests::take_all() {
    std::vector<PendingRequest> all;
    for (auto const& [id, pending] : pending_) all.push_back(pending);
    pending_.clear(), gets_by_end_.clear(), takes_by_min_count_.clear(), left_behind_.clear(), by_deadline_.clear();
    return all;
}

} // namespace thalweg::readout
