#include <algorithm>
#include <utility>

#include "thalweg/base/clock.h"
#include "thalweg/readout/client/client_state.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kUnknownEventBytes = 64 << 10;
constexpr std::uint64_t kMostAnswerBytes = 1 << 30;
constexpr std::uint32_t kTakeDeadlineMs = 50; // then a shorter range is better than a later one
constexpr std::uint64_t kShortestTryNs = 10'000'000, kLongestTryNs = 500'000'000;

} // namespace

void Client::State::greet(Connection& connection) {
    connection.link.queue(MessageType::hello, 0, hello, {});
    connection.link.flush();
}

std::uint32_t Client::State::add_request(Request const& request) {
    if (next_tag == 0) ++next_tag;
    requests.emplace(next_tag, request).first->second.sent_ns = base::monotonic_ns();
    return next_tag++;
}

void Client::State::forget_request(std::uint32_t tag) {
    auto const found = requests.find(tag);
    if (found == requests.end()) return;
    credit.release(found->second.reserved_bytes);
    requests.erase(found);
}

void Client::State::ask(bool take_more) {
    bool const collects = options.role == Role::collector;
    if (take_more && !ended) collects ? take_ranges() : sample_ranges();
    if (take_more && collects) take_what_is_left();
    for (auto& range : ranges) {
        for (std::size_t handler = 0; handler < handlers.size(); ++handler) {
            if (range.wants(handler) && !request(range, handler)) return; // the oldest first: others wait, too
        }
    }
}

void Client::State::take_ranges() {
    auto& connection = *handlers[0].connections[0];
    if (connection.link.phase() != Link::Phase::ready || base::monotonic_ns() < next_take_ns) return;
    for (; ranges.size() + takes < options.ranges_in_flight; ++takes) {
        auto const key = random_key();
        auto const tag = add_request({.type = MessageType::take, .connection = &connection, .key = key});
        Take const take{.count = options.range_events,
                        .deadline_ms = std::min(options.deadline_ms, kTakeDeadlineMs),
                        .min_count = std::exchange(take_few, false) ? 1 : options.range_events,
                        .seal = seal_of(key)};
        connection.link.send(MessageType::take, tag, take);
    }
}

// A card that dies may have given the last events to some handlers only. What the first one knows nothing of, it does
// not give away.
// However many ranges are in flight: what is left may be what they all wait for.
void Client::State::take_what_is_left() {
    auto const now = base::monotonic_ns();
    for (std::size_t i = 1; i < handlers.size() && run != 0; ++i) {
        auto& handler = handlers[i];
        auto& connection = *handler.connections[0];
        bool const may_ask = connection.link.phase() == Link::Phase::ready && !handler.asks_for_rest &&
                             !(ended && handler.has_no_rest) && now >= handler.next_rest_ns;
        if (!may_ask) continue;
        handler.asks_for_rest = true;
        handler.has_no_rest = false; // until it says so again
        auto const key = random_key();
        auto const tag = add_request({.type = MessageType::take, .connection = &connection, .key = key});
        connection.link.send(MessageType::take, tag,
                             Take{.run = run,
                                  .count = options.range_events,
                                  .deadline_ms = options.deadline_ms,
                                  .min_count = 1,
                                  .left_behind = 1,
                                  .seal = seal_of(key)});
    }
}

// An observer goes from range to range, and asks for some. When it has fallen behind what is kept, it asks anew what
// there is.
void Client::State::sample_ranges() {
    auto& link = handlers[0].connections[0]->link;
    auto const& welcome = handlers[0].welcome;
    if (link.phase() != Link::Phase::ready || ranges.size() >= options.ranges_in_flight) return;
    if (base::monotonic_ns() < next_take_ns) return;
    if (welcome.closed_event == 0 || sample_at == ~0ull) {
        next_take_ns = base::monotonic_ns() + options.reconnect_ns;
        sample_at = 0;
        return link.fail("to ask what there is");
    }
    if (sample_at == 0) {
        auto const recent = welcome.closed_event - std::min<std::uint64_t>(welcome.closed_event, options.range_events);
        sample_at = std::max(welcome.first_event, recent);
    }
    while (std::uniform_real_distribution<double>()(random) >= options.sample_fraction)
        sample_at += options.range_events;
    auto const rest = kEventsOfEcr - sample_at % kEventsOfEcr;
    RangeId const id{welcome.run, sample_at, std::min<std::uint64_t>(rest, options.range_events)};
    sample_at += id.count;
    add_range(id, {});
}

void Client::State::own(Taken const& taken, Key const& key) {
    uncommitted.push_back({{taken.run, taken.first, taken.count}, key});
    add_range(uncommitted.back().id, seal_of(key));
}

bool Client::State::is_over_and_away(std::size_t index) const {
    auto const& handler = handlers[index];
    bool const is_away = handler.away_since_ns != 0 && handler.connections[0]->link.phase() != Link::Phase::ready;
    return is_away && (index == 0 ? ended : handler.has_no_rest);
}

void Client::State::add_range(RangeId const& id, Seal const& seal) {
    if (spare_ranges.empty()) spare_ranges.emplace_back();
    ranges.splice(ranges.end(), spare_ranges, spare_ranges.begin());
    ranges.back().begin(id, seal, handlers.size());
}

// False: there is no credit left for it.
bool Client::State::request(Range& range, std::size_t index) {
    auto& handler = handlers[index];
    auto const slot = range.id().first / options.range_events % handler.connections.size();
    auto& connection = *handler.connections[slot];
    if (is_over_and_away(index)) {
        if (range.left_behind) { // it gave away all it had: of what only others have, it knows nothing
            range.has_nothing(index);
        } else if (base::monotonic_ns() > handler.away_since_ns + options.patience_ns) {
            range.lose(index, range.end());
        }
        return true;
    }
    if (connection.link.phase() != Link::Phase::ready || base::monotonic_ns() < handler.next_ask_ns) return true;
    auto& part = range.part(index);
    auto const count = range.end() - part.next;
    // As much as the rest takes, by what was seen lately; no more than the handler's share of the credit, but always
    // enough for one event.
    // A handler that was greeted before its run began could not say how large events are.
    auto const largest = handler.welcome.max_fragment_bytes != 0
                             ? std::uint64_t{handler.welcome.max_fragment_bytes}
                             : std::max(kUnknownEventBytes, 2 * static_cast<std::uint64_t>(handler.event_bytes));
    auto const most = largest + sizeof(EventRecord);
    auto const each = handler.event_bytes > 0 ? std::min(most, static_cast<std::uint64_t>(handler.event_bytes)) : most;
    auto const share = std::max(sizeof(Events) + most, credit.limit_bytes() / handlers.size());
    auto const bytes =
        std::min({sizeof(Events) + std::max(count * each, most), share, credit.limit_bytes(), kMostAnswerBytes});
    if (!credit.reserve(bytes)) return false;
    part.tag = add_request({.connection = &connection, .range = &range, .reserved_bytes = bytes});
    range.asked(base::monotonic_ns());
    connection.link.send(MessageType::get, part.tag,
                         Get{part.next, range.id().run, static_cast<std::uint32_t>(count),
                             static_cast<std::uint32_t>(bytes), options.deadline_ms, range.seal()});
    return true;
}

void Client::State::clear(HandlerState& handler, OwnRange const& range, std::uint64_t give_up_ns) {
    auto& connection = *handler.connections[0];
    if (connection.link.phase() != Link::Phase::ready) {
        handler.clears.push_back(range);
        return;
    }
    auto const& id = range.id;
    if (id.first < handler.anew_until) claim(connection, range);
    auto const tag = add_request(
        {.type = MessageType::clear, .connection = &connection, .cleared = range, .give_up_ns = give_up_ns});
    connection.link.send(MessageType::clear, tag,
                         Clear{id.first, id.run, static_cast<std::uint32_t>(id.count), range.key});
}

// Our rows are safe, so the range is asked for once more, to own it as soon as nobody else does, and cleared. Where its
// owner lives, it clears the range itself, and this is answered with that.
void Client::State::clear_again(std::uint64_t now) {
    for (auto& handler : handlers) {
        auto& connection = *handler.connections[0];
        if (connection.link.phase() != Link::Phase::ready) continue;
        auto const due = std::stable_partition(handler.refused_clears.begin(), handler.refused_clears.end(),
                                               [now](RefusedClear const& it) { return now < it.next_try_ns; });
        std::vector<RefusedClear> const tried(due, handler.refused_clears.end());
        handler.refused_clears.erase(due, handler.refused_clears.end());
        for (auto const& it : tried) {
            if (it.range.id.first >= handler.anew_until) claim(connection, it.range); // else clear() does it
            clear(handler, it.range, it.give_up_ns);
        }
    }
}

// No lease of who died lives longer than one lease more: twice as long is enough on a slow machine, too.
void Client::State::on_cleared(Request const& request, Cleared const& cleared) {
    if (cleared.done != 0) return;
    auto const now = base::monotonic_ns();
    auto& handler = handlers[request.connection->handler];
    auto const lease_ns = handler.welcome.lease_ns;
    auto const give_up_ns = request.give_up_ns != 0 ? request.give_up_ns : now + 2 * lease_ns;
    if (now >= give_up_ns) {
        ++counters.refused_clears;
    } else {
        auto const next_try_ns = now + std::clamp(lease_ns / 8, kShortestTryNs, kLongestTryNs);
        handler.refused_clears.push_back({request.cleared, next_try_ns, give_up_ns});
    }
}

// Who asks for events owns them. The answer holds one of them at most: it is not worth a credit.
void Client::State::claim(Connection& connection, OwnRange const& range) {
    auto const tag = add_request({.connection = &connection});
    connection.link.send(
        MessageType::get, tag,
        Get{range.id.first, range.id.run, static_cast<std::uint32_t>(range.id.count), 1, 0, seal_of(range.key)});
}

// A handler that hears nothing of us gives our ranges to somebody else: where there is nothing to say, one event of
// the oldest is asked for.
void Client::State::renew(std::uint64_t now) {
    if (uncommitted.empty() || options.role != Role::collector) return;
    for (auto& handler : handlers) {
        auto& connection = *handler.connections[0];
        if (connection.link.phase() != Link::Phase::ready || handler.welcome.lease_ns == 0) continue;
        if (now < connection.link.last_sent_ns() + handler.welcome.lease_ns / 3) continue;
        auto const bytes = sizeof(Events) + sizeof(EventRecord) + handler.welcome.max_fragment_bytes;
        if (!credit.reserve(bytes)) continue;
        auto const tag = add_request({.connection = &connection, .reserved_bytes = bytes});
        auto const& oldest = uncommitted.front();
        connection.link.send(
            MessageType::get, tag,
            Get{oldest.id.first, oldest.id.run, 1, static_cast<std::uint32_t>(bytes), 0, seal_of(oldest.key)});
    }
}

} // namespace thalweg::readout
