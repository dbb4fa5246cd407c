#include "thalweg/readout/server/parking_lot.h"

namespace thalweg::readout {

std::uint64_t ParkingLot::add(std::uint64_t connection, Request const& request) {
    auto const id = next_id_++;
    parked_.emplace(id, Parked{id, connection, request});
    if (request.type == MessageType::get)
        gets_by_end_.emplace(request.end(), id);
    else if (request.left_behind)
        left_behind_.insert(id);
    else
        takes_by_min_count_.emplace(request.min_count, id);
    by_deadline_.emplace(request.deadline_ns, id);
    return id;
}

std::optional<ParkingLot::Parked> ParkingLot::remove(std::uint64_t id) {
    auto const it = parked_.find(id);
    if (it == parked_.end()) return std::nullopt;
    auto const parked = it->second;
    parked_.erase(it);
    gets_by_end_.erase({parked.request.end(), id});
    takes_by_min_count_.erase({parked.request.min_count, id});
    left_behind_.erase(id);
    by_deadline_.erase({parked.request.deadline_ns, id});
    return parked;
}

std::optional<ParkingLot::Parked> ParkingLot::take_due(std::uint64_t closed_event, std::uint64_t now_ns) {
    if (!gets_by_end_.empty() && gets_by_end_.begin()->first <= closed_event)
        return remove(gets_by_end_.begin()->second);
    if (!by_deadline_.empty() && by_deadline_.begin()->first <= now_ns) return remove(by_deadline_.begin()->second);
    return std::nullopt;
}

ParkingLot::Parked const* ParkingLot::easiest_take() const {
    return takes_by_min_count_.empty() ? nullptr : &parked_.at(takes_by_min_count_.begin()->second);
}

ParkingLot::Parked const* ParkingLot::take_of_left_behind() const {
    return left_behind_.empty() ? nullptr : &parked_.at(*left_behind_.begin());
}

ParkingLot::Parked const* ParkingLot::find(std::uint64_t id) const {
    auto const it = parked_.find(id);
    return it == parked_.end() ? nullptr : &it->second;
}

std::vector<std::uint64_t> ParkingLot::takes() const {
    std::vector<std::uint64_t> ids;
    for (auto const& [min_count, id] : takes_by_min_count_) ids.push_back(id);
    ids.insert(ids.end(), left_behind_.begin(), left_behind_.end());
    return ids;
}

std::vector<ParkingLot::Parked> ParkingLot::take_all() {
    std::vector<Parked> all;
    for (auto const& [id, parked] : parked_) all.push_back(parked);
    parked_.clear(), gets_by_end_.clear(), takes_by_min_count_.clear(), left_behind_.clear(), by_deadline_.clear();
    return all;
}

} // namespace thalweg::readout
