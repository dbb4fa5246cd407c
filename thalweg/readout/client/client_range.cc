#include "thalweg/readout/client/client_range.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"

namespace thalweg::readout {
namespace {

template <class T> T take(std::span<std::byte const>& bytes) {
    if (bytes.size() < sizeof(T)) base::fail_data({"an answer is cut"});
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    bytes = bytes.subspan(sizeof value);
    return value;
}

} // namespace

void ClientRange::begin(RangeId const& id, RangeSeal const& seal, std::size_t handlers) {
    THALWEG_ASSERT(id.count > 0 && handlers > 0, "a range has an event and a handler");
    THALWEG_ASSERT(memories_.empty(), "a range is used again after its memory was given back");
    id_ = id;
    seal_ = seal;
    requested_ns_ = handed_on = told = 0;
    left_behind = stops_at_end = false;
    parts_.assign(handlers, {.next = id.first});
    pieces_.assign(handlers * id.count, {});
    arrived_ns_.assign(id.count, 0);
}

std::uint64_t ClientRange::whole_before() const { return std::ranges::min(parts_, {}, &HandlerProgress::next).next; }

void ClientRange::begin_anew(std::size_t handler) {
    auto& part = parts_[handler];
    part.tag = 0;
    part.begun_anew = true;
    part.is_behind_end = false;
    part.waiting_since_ns = 0;
}

std::uint64_t ClientRange::accept(std::size_t handler, std::span<std::byte const> body, MessageMemory& memory,
                                  MessagePool& pool, std::uint64_t now_ns) {
    auto& part = parts_[handler];
    auto const answer_bytes = body.size();
    auto const answer = take<EventsHead>(body);
    if (answer.run != id_.run || answer.first != part.next || answer.next < answer.first || answer.next > end() ||
        answer.count != answer.next - answer.first) {
        base::fail_data(
            {fmt::format("an answer holds events {} to {} of run {}", answer.first, answer.next, answer.run),
             fmt::format("event {} and more of run {} were asked for", part.next, id_.run)});
    }
    auto next = answer.first;
    part.is_behind_end = false;
    for (; next < answer.next; ++next) {
        auto const record = take<EventRecord>(body);
        if (record.event != next || record.bytes > body.size() || record.state > EventState::not_yet)
            base::fail_data({fmt::format("an answer is wrong at event {}", next),
                             fmt::format("it says event {} of {} bytes", record.event, record.bytes)});
        part.is_behind_end = stops_at_end && record.is_behind_end != 0;
        // It is requested again, with all events behind it.
        if (part.is_behind_end || record.state == EventState::not_yet) break;
        auto const index = next - id_.first;
        bool const lost = part.begun_anew && record.state == EventState::absent;
        pieces_[handler * id_.count + index] = {body.data(), record.bytes, record.fragments, record.state, lost};
        arrived_ns_[index] = now_ns;
        body = body.subspan(record.bytes);
    }
    if (next == answer.next && !body.empty()) base::fail_data({"an answer is longer than its events"});
    auto const taken = next - answer.first;
    THALWEG_ASSERT(part.next <= next && next <= end(), "a handler's progress in a range only advances");
    part.next = next;
    if (taken > 0) {
        memories_.push_back(std::move(memory));
        held_bytes_ += answer_bytes;
    } else {
        pool.give_back(std::move(memory));
    }
    if (taken > 0 || part.is_behind_end)
        part.waiting_since_ns = 0;
    else if (part.waiting_since_ns == 0)
        part.waiting_since_ns = now_ns;
    return taken;
}

void ClientRange::lose(std::size_t handler, std::uint64_t before) {
    auto& next = parts_[handler].next;
    for (auto const stop = std::min(before, end()); next < stop; ++next) {
        pieces_[handler * id_.count + (next - id_.first)] = {.lost = true};
    }
}

void ClientRange::give_back(MessagePool& pool) {
    for (auto& memory : memories_) pool.give_back(std::move(memory));
    memories_.clear();
    held_bytes_ = 0;
}

} // namespace thalweg::readout
