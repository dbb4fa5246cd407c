#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/readout/client/client_state.h"

namespace thalweg::readout {
namespace {

constexpr std::uint32_t kMostFailures = 5; // for one request; then the handler counts as unable to answer it
constexpr std::uint64_t kPauseNs = 1'000'000;
constexpr std::uint64_t kHandBackNs = 200'000'000;
constexpr std::uint64_t kAskAgainNs = 500'000'000; // a handler whose run was over: it may have begun another one

template <class T> T body_of(ReceivedMessage const& message) {
    if (message.head.length_bytes < sizeof(T)) base::fail_data({"it sent a message that is too short"});
    T value;
    std::memcpy(&value, message.body().data(), sizeof value);
    return value;
}

template <class T> std::vector<T> all_of(std::span<std::byte const> bytes) {
    if (bytes.size() % sizeof(T) != 0) base::fail_data({"it sent a message that is cut"});
    std::vector<T> all(bytes.size() / sizeof(T));
    if (!all.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
}

// No for what only clients send, and for a number that no message has.
bool is_answer(MessageType type) {
    switch (type) {
    case MessageType::welcome:
    case MessageType::taken:
    case MessageType::events:
    case MessageType::cleared:
    case MessageType::refused:
        return true;
    case MessageType::shared: // the link has taken it
    case MessageType::in_memory:
    case MessageType::share:
    case MessageType::release:
    case MessageType::hello:
    case MessageType::take:
    case MessageType::get:
    case MessageType::clear:
    case MessageType::bye:
        return false;
    }
    return false;
}

} // namespace

// A message must make sense. Otherwise the connection ends, and its requests are repeated.
void Client::State::handle(HandlerConnection& connection, ReceivedMessage message) {
    auto const found = requests.take(message.head.tag, connection);
    bool const is_known = found.has_value();
    auto const request = found.value_or(Request{});
    if (is_known) {
        if (request.type == MessageType::take && connection.handler == 0) takes -= request.keys.size();
        if (request.type == MessageType::take) handlers[connection.handler].asks_for_rest = false;
        if (request.range) request.range->part(connection.handler).tag = 0;
    }
    try {
        if (!is_answer(message.head.type)) {
            base::fail_data({fmt::format("it sent a message of type {}", static_cast<int>(message.head.type))});
        }
        switch (message.head.type) {
        case MessageType::welcome:
            on_welcome(connection, message);
            break;
        case MessageType::taken:
            if (is_known && request.type == MessageType::take) on_taken(request, message);
            break;
        case MessageType::events:
            if (request.range) return on_events(request, std::move(message));
            break;
        case MessageType::cleared:
            if (is_known && request.type == MessageType::clear) on_cleared(request, message);
            break;
        case MessageType::refused:
            on_refused(connection, is_known ? &request : nullptr, message);
            break;
        case MessageType::shared:
        case MessageType::in_memory:
        case MessageType::share:
        case MessageType::release:
        case MessageType::hello:
        case MessageType::take:
        case MessageType::get:
        case MessageType::clear:
        case MessageType::bye:
            break;
        }
    } catch (base::DataError const& error) {
        connection.link.fail(error.what());
        if (request.range) part_failed(*request.range, connection.handler);
    }
    pool.give_back(std::move(message.memory));
}

void Client::State::on_welcome(HandlerConnection& connection, ReceivedMessage const& message) {
    auto const welcome = body_of<Welcome>(message);
    auto& handler = handlers[connection.handler];
    bool const is_new = handler.welcome.instance != 0 && handler.welcome.instance != welcome.instance;
    bool const is_between_runs = welcome.state == static_cast<std::uint32_t>(ReadoutState::stopped) ||
                                 welcome.state == static_cast<std::uint32_t>(ReadoutState::configured);
    if (connection.handler == 0 && handler.welcome.instance == 0 && is_between_runs) run_before = welcome.run;
    handler.welcome = welcome;
    handler.away_since_ns = handler.refused_since_ns = 0;
    token.accepted(connection.token);
    if (token.has_changed()) lease_renewer->says(connection.handler, hello_with(connection.token));
    connection.link.greeted();
    if (options.role == ClientRole::collector) connection.link.ask_for_memory(memory_to_ask());
    most_message_bytes =
        std::max<std::uint64_t>(most_message_bytes, options.credit_bytes + welcome.max_fragment_bytes + (1 << 20));
    if (is_new) begun_anew(connection.handler, welcome);
    bool const takes_here = &connection == &handler.first_connection();
    if (takes_here && std::exchange(handler.takes_lost, false) && !is_new) return give_back(connection);
    connection.was_up = true;
    if (options.role == ClientRole::observer && connection.handler == 0) begin_run(welcome.run);
    if (!takes_here) return;
    for (auto const& range : handler.clears.take_held()) clear(handler, {range});
}

// Gives back ranges that never arrived here, so that they are given away again. Ranges that the client knows are given
// to it again, too: on_taken() leaves them out. The client may still clear them unless another collector took them
// first.
void Client::State::give_back(HandlerConnection& connection) {
    connection.link.queue(MessageType::bye, 0, {}, {});
    connection.link.part(base::monotonic_ns() + kHandBackNs, "ranges that never arrived are given back");
}

// The handler lost its index, and with it its part of the ranges. The client asks it all the same: so the handler
// learns which client owns events that still arrive, and they do not hold up others.
void Client::State::begun_anew(std::size_t handler, Welcome const& welcome) {
    auto& it = handlers[handler];
    auto const is_over = [&](RangeId const& id) { return welcome.run != 0 && welcome.run != id.run; };
    it.clears.drop_held(is_over);
    it.run = 0;
    it.over_since_ns = 0;
    it.has_no_rest = is_over({run, 0, 0});
    it.anew_until = taken_events.end();
    for (auto& range : ranges) {
        requests.forget(range.part(handler).tag);
        range.begin_anew(handler);
        if (is_over(range.id())) range.lose(handler, ~0ull);
    }
    // The handler's other connections belong to the process that has ended.
    for (auto* each : it.connections) {
        if (each->is_ready() && each->was_up) each->link.fail("it was restarted");
    }
    if (handler == 0) taken_events.started_anew();
}

// Returns whether the run has ended. Other handlers may have events that the first one does not know. A handler that is
// away may have been killed and may return with what its card wrote meanwhile. The wait for it, and for one that goes
// on, is limited.
bool Client::State::has_ended(std::uint64_t now) {
    if (ended_ns == 0) ended_ns = now;
    if (now - ended_ns > options.patience_ns) return true;
    for (std::size_t index = 1; index < handlers.size(); ++index)
        if (!handlers[index].has_no_rest && !is_given_up(index, now)) return false;
    return true;
}

void Client::State::on_left_behind(RemoteHandler& handler, Request const& request, Taken const& taken) {
    note_over(handler, taken.is_over != 0);
    handler.has_no_rest = taken.ended != 0 && taken.count == 0;
    if (taken.count == 0) {
        handler.next_rest_ns = base::monotonic_ns() + kPauseNs;
        return;
    }
    if (taken.run != run) base::fail_data({fmt::format("it gave away events of run {}, not {}", taken.run, run)});
    RangeId const id{taken.run, taken.first, taken.count};
    auto const& key = request.keys.front();
    if (uncommitted.contain(id)) return uncommitted.add({id, key}); // a new key comes with each giving
    bool const is_other = &handler != &handlers.front();
    if (is_other) counters.left_behind += taken.count;
    counters.gaps -= taken_events.found(taken.first, taken.first + taken.count);
    if (taken.again != 0) counters.again += taken.count;
    own(taken, key);
    ranges.back().left_behind = is_other;
}

void Client::State::check_size(Taken const& taken) const {
    if (taken.count > options.range_events || taken.first > ~0ull - taken.count)
        base::fail_data({fmt::format("it gave away {} events from {} on", taken.count, taken.first)});
}

void Client::State::on_taken(Request const& request, ReceivedMessage const& message) {
    auto const handler = request.connection->handler;
    auto const taken = body_of<Taken>(message);
    auto const more = all_of<TakenRange>(message.body().subspan(sizeof taken));
    if (more.size() >= request.keys.size())
        base::fail_data({fmt::format("it gave away {} ranges", 1 + more.size()),
                         fmt::format("{} were asked for", request.keys.size())});
    check_size(taken);
    if (request.is_for_left_behind) return on_left_behind(handlers[handler], request, taken);
    note_over(handlers[0], taken.is_over != 0);
    bool const is_before = run == 0 && run_before != 0 && taken.run == run_before; // nothing of it was left
    ended = taken.ended != 0 && taken.count == 0 && !is_before;
    if (taken.count == 0) {
        take_few = true;
        next_take_ns = base::monotonic_ns() + (is_before ? options.reconnect_ns : kPauseNs);
        return;
    }
    on_range(taken, request.keys[0]);
    auto each = taken;
    for (std::size_t i = 0; i < more.size(); ++i) {
        each.first = more[i].first, each.count = more[i].count, each.again = more[i].again;
        check_size(each);
        on_range(each, request.keys[i + 1]);
    }
}

void Client::State::on_range(Taken const& taken, RangeKey const& key) {
    if (taken_events.counts_from_the_beginning(taken))
        base::fail_system({fmt::format("handler {} was restarted and counts events of run {} from the beginning",
                                       handlers[0].address, run),
                           fmt::format("it gives away event {}, though all before {} were taken before", taken.first,
                                       taken_events.anew_from()),
                           "start it with another run number"});
    RangeId const id{taken.run, taken.first, taken.count};
    if (uncommitted.contain(id)) return uncommitted.add({id, key}); // a new key comes with each giving
    if (taken.again != 0) counters.again += taken.count;
    counters.gaps += taken_events.add(taken);
    if (taken.run != run) begin_run(taken.run);
    own(taken, key);
}

void Client::State::on_cleared(Request const& request, ReceivedMessage const& message) {
    auto const answers = all_of<Cleared>(message.body());
    if (answers.size() != request.cleared.size())
        base::fail_data({fmt::format("it answers for {} ranges", answers.size()),
                         fmt::format("{} were to be cleared", request.cleared.size())});
    auto& handler = handlers[request.connection->handler];
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (answers[i].done != 0) continue;
        bool const is_tried =
            handler.clears.try_again(request.cleared[i], handler.welcome.lease_ns, base::monotonic_ns());
        if (!is_tried) ++counters.refused_clears;
    }
}

void Client::State::on_events(Request const& request, ReceivedMessage message) {
    auto& range = *request.range;
    auto const index = request.connection->handler;
    auto& handler = handlers[index];
    auto const body = message.body();
    auto const now = base::monotonic_ns();
    if (credit_finder) {
        credit_finder->answered(body.size(), request.sent_ns, now);
        requests.set_credit(credit_finder->credit_bytes());
    }
    std::uint64_t taken = 0;
    try {
        taken = range.accept(index, body, message.memory, pool, now);
    } catch (base::DataError const& error) {
        pool.give_back(std::move(message.memory));
        request.connection->link.fail(error.what());
        return part_failed(range, index);
    }
    auto& part = range.part(index);
    if (part.is_behind_end) {
        note_over(handler, true);
        part.ask_again_ns = now + kAskAgainNs;
    }
    handler.without_run_since_ns = 0;
    if (std::exchange(handler.run, range.id().run) != range.id().run)
        for (auto const& cleared : handler.clears.take_held()) clear(handler, {cleared});
    if (taken == 0) {
        bool const is_late = part.waiting_since_ns != 0 && now - part.waiting_since_ns > options.patience_ns;
        if (is_late) range.lose(index, range.end());
        return;
    }
    // The estimate rises at once and falls slowly: an answer that is cut short costs another round trip.
    auto const each = 1.125 * static_cast<double>(body.size()) / static_cast<double>(taken);
    handler.event_bytes = std::max(each, 0.98 * handler.event_bytes);
}

void Client::State::part_failed(ClientRange& range, std::size_t handler) {
    if (++range.part(handler).failures >= kMostFailures) range.lose(handler, range.end());
}

// The handler may begin this run soon: the handlers of a readout do not begin at the same moment.
void Client::State::on_wrong_run(ClientRange& range, std::size_t index, std::uint32_t its_run) {
    auto& handler = handlers[index];
    if (its_run != 0) handler.other_run = its_run;
    auto const now = base::monotonic_ns();
    if (handler.without_run_since_ns == 0) handler.without_run_since_ns = now;
    handler.next_ask_ns = now + options.reconnect_ns;
    bool const has_ended_it = handler.run == range.id().run;
    bool const is_too_late = now - handler.without_run_since_ns > options.patience_ns;
    if (!has_ended_it && !is_too_late) return;
    if (!has_ended_it) handler.given_up_in_run = handler.other_run;
    range.lose(index, ~0ull);
}

void Client::State::on_refused(HandlerConnection& connection, Request const* request, ReceivedMessage const& message) {
    auto const refused = body_of<Refused>(message);
    auto const words = message.body().subspan(sizeof refused);
    std::string const why(reinterpret_cast<char const*>(words.data()), words.size());
    auto& handler = handlers[connection.handler];
    if (refused.why == Refusal::not_allowed && tries_another_token(connection, why)) return;
    if (refused.why == Refusal::not_allowed || refused.why == Refusal::not_owner)
        base::fail_usage({"handler " + handler.address + " refuses this client", why});
    if (refused.why == Refusal::busy || refused.why == Refusal::malformed) {
        connection.link.fail(why);
        if (request && request->range) part_failed(*request->range, connection.handler);
        return;
    }
    if (!request) return;
    bool const is_other_run = refused.why == Refusal::wrong_run;
    if (request->range && is_other_run) on_wrong_run(*request->range, connection.handler, refused.run);
    if (request->range && !is_other_run) request->range->lose(connection.handler, ~0ull); // events that cannot exist
    if (request->type == MessageType::take) {
        (connection.handler == 0 ? next_take_ns : handler.next_rest_ns) = base::monotonic_ns() + options.reconnect_ns;
        handler.has_no_rest = is_other_run && refused.run != 0; // otherwise it has not begun yet
    }
    if (request->type != MessageType::clear) return;
    for (auto const& it : request->cleared) {
        if (is_other_run && refused.run == 0 && handler.run != it.range.id.run)
            handler.clears.hold(it.range); // until it has begun
        else if (!is_other_run) // otherwise the run of the range is over there, and it keeps nothing for anyone
            ++counters.refused_clears;
    }
}

} // namespace thalweg::readout
