#include <algorithm>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/readout/client/client_state.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kMostAnswerBytes = 1 << 30;
// If a credit that the client found does not suffice for so much from each handler, few are asked at a time: small
// answers cost more.
constexpr std::uint64_t kLeastShare = 16 << 10;
constexpr std::uint32_t kTakeDeadlineMs = 50; // then a shorter range is better than a later one

} // namespace

void Client::State::greet(HandlerConnection& connection) {
    connection.link.queue(MessageType::hello, 0, hello_with(connection.token), {});
    connection.link.flush();
}

// Answers wait there for those of other handlers, beyond the time for which they have credit.
std::uint64_t Client::State::memory_to_ask() const { return 2 * options.credit_bytes / connections.size(); }

std::uint32_t Client::State::add_request(Request request) {
    request.sent_ns = base::monotonic_ns();
    return requests.add(std::move(request));
}

void Client::State::ask(bool take_more) {
    bool const collects = options.role == ClientRole::collector;
    if (take_more && !ended) collects ? take_ranges() : sample_ranges();
    if (take_more && collects) take_what_is_left();
    if (take_more && collects && !ended) ask_whether_over();
    for (auto& range : ranges) {
        for (std::size_t handler = 0; handler < handlers.size(); ++handler) {
            // The oldest range comes first, and others wait for it.
            if (range.wants(handler) && !request(range, handler)) return;
        }
    }
}

void Client::State::take_ranges() {
    auto& connection = handlers[0].first_connection();
    if (!connection.is_ready() || base::monotonic_ns() < next_take_ns) return;
    for (auto room = room_for_takes(); room > 0;) {
        std::vector<RangeKey> keys(std::min(room, kMaxRequestRanges));
        room -= keys.size();
        std::ranges::generate(keys, random_key);
        std::vector<RangeSeal> seals(keys.size());
        std::ranges::transform(keys, seals.begin(), seal_of);
        takes += keys.size();
        auto const tag = add_request({.type = MessageType::take, .connection = &connection, .keys = std::move(keys)});
        Take const take{.count = options.range_events,
                        .deadline_ms = std::min(options.deadline_ms, kTakeDeadlineMs),
                        .min_count = std::exchange(take_few, false) ? 1 : options.range_events,
                        .seal = seals.front()};
        connection.link.queue(MessageType::take, tag, std::as_bytes(std::span(&take, 1)),
                              std::as_bytes(std::span(seals).subspan(1)));
    }
}

// Takes events that only other handlers have: a card that dies may have sent its last events to some handlers only, and
// the first handler does not give away what it does not know. This does not count ranges in flight, because all of them
// may wait for these events.
void Client::State::take_what_is_left() {
    auto const now = base::monotonic_ns();
    for (std::size_t i = 1; i < handlers.size() && run != 0; ++i) {
        auto& handler = handlers[i];
        auto& connection = handler.first_connection();
        bool const may_ask = connection.is_ready() && !handler.asks_for_rest && !(ended && handler.has_no_rest) &&
                             now >= handler.next_rest_ns;
        if (!may_ask) continue;
        handler.asks_for_rest = true;
        handler.has_no_rest = false; // until it reports so again
        send_take_of_left_behind(connection, options.deadline_ms);
    }
}

void Client::State::send_take_of_left_behind(HandlerConnection& connection, std::uint32_t deadline_ms) {
    auto const key = random_key();
    auto const tag =
        add_request({.type = MessageType::take, .connection = &connection, .keys = {key}, .is_for_left_behind = true});
    connection.link.send(MessageType::take, tag,
                         Take{.run = run,
                              .count = options.range_events,
                              .deadline_ms = deadline_ms,
                              .min_count = 1,
                              .left_behind = 1,
                              .seal = seal_of(key)});
}

void Client::State::sample_ranges() {
    auto& connection = handlers[0].first_connection();
    if (!connection.is_ready() || ranges.size() >= options.ranges_in_flight) return;
    if (base::monotonic_ns() < next_take_ns) return;
    if (auto const id = sampler.next(handlers[0].welcome)) return add_range(*id, {});
    next_take_ns = base::monotonic_ns() + options.reconnect_ns;
    connection.link.fail("to ask what there is");
}

void Client::State::own(Taken const& taken, RangeKey const& key) {
    RangeId const id{taken.run, taken.first, taken.count};
    uncommitted.add({id, key});
    add_range(id, seal_of(key));
}

void Client::State::add_range(RangeId const& id, RangeSeal const& seal) {
    if (spare_ranges.empty()) spare_ranges.emplace_back();
    ranges.splice(ranges.end(), spare_ranges, spare_ranges.begin());
    ranges.back().begin(id, seal, handlers.size());
    ranges.back().stops_at_end = options.role == ClientRole::collector;
}

// Returns the part of the credit that one handler may use.
std::uint64_t Client::State::share_of_handler() const {
    auto const limit = requests.credit().limit_bytes();
    auto const equal = limit / handlers.size();
    return credit_finder ? std::max(equal, std::min(kLeastShare, limit / 4)) : equal;
}

// Returns false if there is no credit left for the request.
bool Client::State::request(ClientRange& range, std::size_t index) {
    auto& handler = handlers[index];
    auto const slot = range.id().first / options.range_events % handler.connections.size();
    auto& connection = *handler.connections[slot];
    auto const now = base::monotonic_ns();
    auto& part = range.part(index);
    if (is_behind_end(range, index)) {
        look_at_end(range, index, now);
        if (!range.wants(index) || now < part.ask_again_ns) return true;
    }
    if (is_given_up(index, now)) range.lose(index, range.end());
    if (!range.wants(index) || !connection.is_ready() || now < handler.next_ask_ns) return true;
    auto const count = range.end() - part.next;
    auto const limit = requests.credit().limit_bytes();
    auto const bytes = std::min({handler.bytes_to_ask(count, share_of_handler()), limit, kMostAnswerBytes});
    if (!requests.reserve(bytes)) {
        if (credit_finder) credit_finder->wants_more();
        return false;
    }
    THALWEG_ASSERT(range.wants(index), "a handler answers one request of a range at a time");
    part.tag = add_request({.connection = &connection, .range = &range, .reserved_bytes = bytes});
    range.asked(base::monotonic_ns());
    connection.link.send(MessageType::get, part.tag,
                         Get{part.next, range.id().run, static_cast<std::uint32_t>(count),
                             static_cast<std::uint32_t>(bytes), options.deadline_ms, range.seal()});
    return true;
}

void Client::State::clear(RemoteHandler& handler, RangeToClear const& what) {
    if (!handler.is_ready()) return handler.clears.hold(what.range);
    if (what.range.id.first < handler.anew_until) claim(handler.first_connection(), what.range);
    handler.clears.add(what);
}

// Sends what is committed by now: a message clears several ranges, of one run.
void Client::State::send_clears(RemoteHandler& handler) {
    if (!handler.clears.has_ready()) return;
    auto const ready = handler.clears.take_ready();
    auto& connection = handler.first_connection();
    for (std::size_t i = 0; i < ready.size();) {
        if (!connection.is_ready()) {
            handler.clears.hold(ready[i++].range);
            continue;
        }
        std::vector<Clear> body;
        std::vector<RangeToClear> cleared;
        auto const of_run = ready[i].range.id.run;
        for (; i < ready.size() && ready[i].range.id.run == of_run && body.size() < kMaxRequestRanges; ++i) {
            auto const& [id, key] = ready[i].range;
            body.push_back({id.first, id.run, static_cast<std::uint32_t>(id.count), key});
            cleared.push_back(ready[i]);
        }
        auto const tag =
            add_request({.type = MessageType::clear, .connection = &connection, .cleared = std::move(cleared)});
        connection.link.queue(MessageType::clear, tag, std::as_bytes(std::span(body)), {});
    }
}

// The rows are safe, so the client asks for the range once more, to own it as soon as it is free, and clears it. If its
// owner is alive, that owner clears it, and this clear succeeds, too.
void Client::State::clear_again(std::uint64_t now) {
    for (auto& handler : handlers) {
        if (!handler.is_ready()) continue;
        for (auto const& it : handler.clears.take_due(now)) {
            if (it.what.range.id.first >= handler.anew_until)
                claim(handler.first_connection(), it.what.range); // otherwise clear() does it
            clear(handler, it.what);
        }
    }
}

// Asking for events claims them. The answer holds one event at most, which needs no credit.
void Client::State::claim(HandlerConnection& connection, OwnRange const& range) {
    auto const tag = add_request({.connection = &connection});
    connection.link.send(
        MessageType::get, tag,
        Get{range.id.first, range.id.run, static_cast<std::uint32_t>(range.id.count), 1, 0, seal_of(range.key)});
}

// A handler that hears nothing from the client gives its ranges away. If there is nothing else to send, the client asks
// for one event of its oldest range.
void Client::State::renew(std::uint64_t now) {
    if (uncommitted.empty() || options.role != ClientRole::collector) return;
    for (auto& handler : handlers) {
        auto& connection = handler.first_connection();
        if (!connection.is_ready() || handler.welcome.lease_ns == 0) continue;
        if (now < connection.link.last_sent_ns() + handler.welcome.lease_ns / 3) continue;
        auto const event_bytes = sizeof(EventsHead) + sizeof(EventRecord) + handler.welcome.max_fragment_bytes;
        auto const bytes = std::min<std::uint64_t>(event_bytes, requests.credit().limit_bytes());
        if (!requests.reserve(bytes)) continue;
        auto const tag = add_request({.connection = &connection, .reserved_bytes = bytes});
        auto const& oldest = uncommitted.oldest();
        connection.link.send(
            MessageType::get, tag,
            Get{oldest.id.first, oldest.id.run, 1, static_cast<std::uint32_t>(bytes), 0, seal_of(oldest.key)});
    }
}

} // namespace thalweg::readout
