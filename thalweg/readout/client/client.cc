#include "thalweg/readout/client/client.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/random.h"
#include "thalweg/readout/client/client_state.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kTurnNs = 2'000'000;          // the longest wait of a turn without events
constexpr std::uint64_t kLookIntervalNs = 50'000'000; // between two checks for silent and absent handlers
constexpr std::uint64_t kGreetingNs = 3'000'000'000;  // to connect, and to be welcomed
constexpr std::uint64_t kPartingNs = 1'000'000'000;   // to send the bye
constexpr int kMessagesPerTurn = 16;                  // then the next connection is served
// The limit of connections to a handler that are not greeted yet: a handler accepts few connections without a hello.
constexpr std::size_t kMostComing = 64;

void check(ClientOptions const& options) {
    if (options.handlers.empty()) base::fail_usage({"no handler is given", "", "name one address at least"});
    if (options.range_events == 0 || options.range_events > kMaxRequestEvents)
        base::fail_usage({fmt::format("ranges of {} events cannot be asked for", options.range_events),
                          fmt::format("1 to {} can", kMaxRequestEvents)});
    if (options.credit_bytes < 4096 || options.ranges_in_flight == 0 || options.connections == 0)
        base::fail_usage({"a client needs at least 4 KiB of credit, one range in flight and one connection"});
    if (!(options.sample_fraction > 0 && options.sample_fraction <= 1))
        base::fail_usage({fmt::format("a sample of {} of the ranges cannot be taken", options.sample_fraction),
                          "more than 0 and at most 1 can"});
    if (options.token.size() > kMaxTokenBytes) base::fail_usage({"the token is longer than 256 bytes"});
}

} // namespace

Client::State::State(ClientOptions const& given)
    : options(given), token(given.token, given.token_file), requests(given.credit_bytes),
      sampler(given.sample_fraction, given.range_events), assembler(given.handlers.size(), counters) {
    check(options);
    if (options.find_credit) {
        credit_finder.emplace(options.credit_bytes);
        requests.set_credit(credit_finder->credit_bytes());
    }
    for (auto& word : client_id) word = base::random_word();
    most_message_bytes = options.credit_bytes + (1 << 20);
    std::vector<transport::MovingAddress> addresses;
    for (auto const& text : options.handlers) {
        auto const& address = addresses.emplace_back(text);
        auto& handler = handlers.emplace_back();
        handler.address = transport::names_host(text) ? text : address.now().str();
        handler.away_since_ns = base::monotonic_ns();
        for (std::uint32_t i = 0; i < options.connections; ++i) {
            connections.push_back({ClientLink(address, poller, by_key.size()), handlers.size() - 1});
            connections.back().token = options.token;
            by_key.push_back(&connections.back());
            handler.connections.push_back(&connections.back());
        }
    }
    lease_renewer.emplace(addresses, hello_with(options.token), options.longest_callback_ns);
    publish_away();
}

Client::Client(ClientOptions const& options) : state_(std::make_unique<State>(options)) {}

Client::~Client() {
    state_->lease_renewer->stop();
    state_->part(base::monotonic_ns() + kPartingNs);
}

void Client::run(EventSink const& sink) {
    auto& state = *state_;
    struct Publish {
        State& state;
        ~Publish() {
            state.publish();
            state.publish_away();
        }
    } const publish{state}; // including what came before the sink threw
    if (state.options.role == ClientRole::collector) state.lease_renewer->start();
    while (!stop_) {
        state.turn(kTurnNs);
        // Requests are sent first: the sink may take long, and all handlers must know meanwhile which ranges this
        // client owns.
        state.ask(!stop_);
        state.flush();
        state.hand_on(sink);
        if (sink.idle) sink.idle();
        state.ask(!stop_);
        state.publish();
        if (state.ended && state.ranges.empty() && state.takes == 0 && state.has_ended(base::monotonic_ns())) break;
    }
}

void Client::keep_up(std::uint64_t duration_ns) {
    auto const end_ns = base::monotonic_ns() + duration_ns;
    do state_->turn(kTurnNs);
    while (base::monotonic_ns() < end_ns);
    state_->publish();
}

bool Client::settle(std::uint64_t timeout_ns) {
    auto& state = *state_;
    state.lease_renewer->stop(); // this thread turns itself
    auto const end_ns = base::monotonic_ns() + timeout_ns;
    auto const is_settled = [&] {
        return !state.requests.has_clears() && std::all_of(state.handlers.begin(), state.handlers.end(),
                                                           [](auto const& it) { return it.clears.empty(); });
    };
    auto const tries_again = [&] { // each of these ends by itself
        return std::any_of(state.handlers.begin(), state.handlers.end(),
                           [](auto const& it) { return it.clears.tries_again() && it.is_ready(); });
    };
    while (!is_settled() && (base::monotonic_ns() < end_ns || tries_again())) state.turn(kTurnNs);
    state.publish();
    return is_settled();
}

void Client::commit(RangeId const& range) {
    for (auto const& committed : state_->uncommitted.commit(range))
        for (auto& handler : state_->handlers) state_->clear(handler, {committed});
}

// Sends what is queued, waits for messages, and handles them.
void Client::State::turn(std::uint64_t wait_ns) {
    if (turned_ns != 0) stood_still(turned_ns, base::monotonic_ns());
    flush();
    for (auto const& ready : poller.wait(wait_ns)) serve(*by_key[ready.key], ready);
    auto const now = turned_ns = base::monotonic_ns();
    tell_lease_renewer(now);
    if (now >= next_look_ns) {
        next_look_ns = now + kLookIntervalNs;
        look_for_silence(now);
        look_for_end(now);
        renew(now);
        clear_again(now);
    }
    for (auto& handler : handlers) handler.coming = 0;
    for (auto const& connection : connections) handlers[connection.handler].coming += connection.is_coming();
    for (auto& connection : connections) look_after(connection, now);
}

void Client::State::flush() {
    for (auto& handler : handlers) send_clears(handler);
    for (auto& connection : connections) connection.link.flush();
}

// The sink took longer than handlers take to answer. The delay is the client's own, so all waiting times begin again.
void Client::State::stood_still(std::uint64_t since_ns, std::uint64_t now) {
    if (now - since_ns < kLookIntervalNs) return;
    auto const later = [&](std::uint64_t& begin_ns) {
        if (begin_ns != 0) begin_ns = std::min(now, begin_ns + (now - since_ns));
    };
    requests.visit([&](Request& request) { later(request.sent_ns); });
    for (auto& handler : handlers)
        later(handler.away_since_ns), later(handler.without_run_since_ns), later(handler.over_since_ns);
    for (auto& range : ranges)
        for (std::size_t handler = 0; handler < handlers.size(); ++handler) later(range.part(handler).waiting_since_ns);
}

void Client::State::tell_lease_renewer(std::uint64_t now) {
    lease_renewer->turned(now, !uncommitted.empty() || takes > 0);
    for (std::size_t i = 0; i < handlers.size(); ++i) {
        std::uint64_t said_ns = 0;
        for (auto const* connection : handlers[i].connections)
            said_ns = std::max(said_ns, connection->link.last_sent_ns());
        lease_renewer->said(i, handlers[i].welcome.lease_ns, said_ns);
    }
}

// The bye comes last, because it gives back what the client owns: a request that still waited would claim it again.
void Client::State::part(std::uint64_t until_ns) {
    for (auto& handler : handlers) send_clears(handler);
    for (bool const says_bye : {false, true}) {
        std::vector<ClientLink*> links;
        for (auto& connection : connections)
            if (says_bye == (&connection == &handlers[connection.handler].first_connection()))
                links.push_back(&connection.link);
        for (auto* link : links) {
            if (says_bye && link->phase() == ClientLink::Phase::ready) link->queue(MessageType::bye, 0, {}, {});
            link->flush();
        }
        for (auto* link : links) link->part(until_ns, "this client has ended");
    }
}

void Client::State::serve(HandlerConnection& connection, transport::Ready const& ready) {
    auto& link = connection.link;
    if (link.phase() == ClientLink::Phase::connecting) {
        if (link.finish_connecting()) greet(connection);
        return;
    }
    if (ready.writable) link.flush();
    if (!ready.readable && !ready.broken) return;
    for (int i = 0; i < kMessagesPerTurn; ++i) {
        auto message = link.receive(pool, most_message_bytes);
        if (!message) break;
        handle(connection, std::move(*message));
    }
}

void Client::State::look_after(HandlerConnection& connection, std::uint64_t now) {
    auto& link = connection.link;
    auto& handler = handlers[connection.handler];
    if (connection.is_coming() && now > link.since_ns() + kGreetingNs) link.fail(kNoWelcome);
    if (link.phase() != ClientLink::Phase::away) return;
    if (connection.was_up) connection_lost(connection);
    if (handler.away_since_ns == 0) handler.away_since_ns = now;
    if (options.give_up_ns > 0 && now - handler.away_since_ns > options.give_up_ns)
        base::fail_system({"handler " + handler.address + " stays away", link.failure()});
    bool const may_connect = link.since_ns() == 0 || now > link.since_ns() + options.reconnect_ns;
    if (!may_connect || handler.coming >= kMostComing) return;
    ++handler.coming;
    link.connect();
}

// Requests of the lost connection are sent again.
void Client::State::connection_lost(HandlerConnection& connection) {
    connection.was_up = false;
    if (!ended) ++counters.reconnects; // after the end handlers may leave
    auto& handler = handlers[connection.handler];
    requests.take_all_of(connection, [&](Request const& request) {
        if (request.type == MessageType::take) {
            THALWEG_ASSERT(connection.handler != 0 || takes >= request.keys.size(),
                           "every take at the first handler is counted");
            if (connection.handler == 0) takes -= request.keys.size();
            handler.takes_lost = true;
            handler.asks_for_rest = false;
        }
        for (auto const& it : request.cleared) handler.clears.hold(it.range);
        if (request.range) request.range->part(connection.handler).tag = 0;
    });
}

void Client::State::look_for_silence(std::uint64_t now) {
    requests.visit([&](Request const& request) {
        bool const is_late = now > request.sent_ns + options.deadline_ms * 1'000'000ull + options.answer_ns;
        if (request.connection->is_ready() && is_late) request.connection->link.fail("it does not answer");
    });
    publish_away();
}

// Returns why a handler that is there has nothing of the run; empty: it has, or the client goes on without it.
std::string Client::State::why_without_run(RemoteHandler const& handler, std::uint64_t now) const {
    if (handler.without_run_since_ns == 0) return "";
    if (handler.other_run != 0)
        return fmt::format("it is in run {}, and the first one in run {}", handler.other_run, run);
    return is_missed(handler, now) ? "it has not begun the run" : "";
}

// Returns whether ranges wait for a handler that is there to begin the run.
bool Client::State::is_missed(RemoteHandler const& handler, std::uint64_t now) const {
    return handler.run != run && now < handler.without_run_since_ns + options.patience_ns;
}

void Client::State::publish_away() {
    std::vector<AwayHandler> away;
    auto const now = base::monotonic_ns();
    for (auto const& handler : handlers) {
        if (handler.away_since_ns == 0) {
            if (auto const why = why_without_run(handler, now); !why.empty())
                away.push_back({handler.address, why, true, is_missed(handler, now), true, ended});
            continue;
        }
        auto const& why = handler.first_connection().link.failure();
        bool const is_silent = why.empty() && now - handler.away_since_ns > kGreetingNs;
        away.push_back({.address = handler.address,
                        .why = is_silent     ? kNoWelcome
                               : why.empty() ? "it has sent no welcome yet"
                                             : why,
                        .was_met = handler.welcome.instance != 0,
                        .may_leave = ended});
    }
    published.set_away(std::move(away));
}

void Client::State::hand_on(EventSink const& sink) {
    for (auto range = ranges.begin(); range != ranges.end();) {
        auto const next = std::next(range);
        auto const& id = range->id();
        auto const count = range->whole_before() - id.first;
        bool const is_whole = count == id.count;
        // A handler that drains waits until its part of these events is safe.
        if (is_whole || (count > range->told && waits_for_return(*range))) {
            bool const is_anything_left = assembler.hand_on(*range, count, sink);
            if (!is_anything_left) sampler.has_fallen_behind();
            if (sink.end_of_range && options.role == ClientRole::collector)
                sink.end_of_range({id.run, id.first + range->told, count - range->told});
            range->told = count;
        }
        if (is_whole) {
            range->give_back(pool);
            spare_ranges.splice(spare_ranges.begin(), ranges, range);
        }
        range = next;
    }
}

void Client::State::publish() {
    counters.max_outstanding_bytes = requests.credit().most_bytes();
    published.set_counters(counters);
    auto parts = assembler.missing_parts();
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i].other_run = handlers[i].given_up_in_run;
    published.set_missing_parts(parts);
}

void Client::State::begin_run(std::uint32_t number) {
    run = number;
    published.set_run(number);
}

ClientCounters Client::counters() const { return state_->published.counters(); }

std::vector<MissingParts> Client::missing_parts() const {
    auto parts = state_->published.missing_parts();
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i].address = state_->handlers[i].address;
    return parts;
}

std::uint32_t Client::run_number() const { return state_->published.run(); }

std::vector<AwayHandler> Client::away() const { return state_->published.away(); }

std::string Client::waiting_for() const {
    std::string text;
    for (auto const& handler : away())
        if (handler.is_missed) text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", handler.address, handler.why);
    return text;
}

std::vector<trace::Sample> Client::samples() const {
    auto const now = counters();
    auto const counter = [](char const* name, char const* help, std::uint64_t value) {
        return trace::Sample{fmt::format("thalweg_client_{}_total", name),
                             help,
                             trace::Sample::Kind::counter,
                             {},
                             static_cast<double>(value)};
    };
    std::vector<trace::Sample> samples{
        counter("events", "Events handed on.", now.events),
        counter("incomplete_events", "Events handed on with something missing.", now.incomplete),
        counter("overflowing_events", "Events handed on without a payload that did not fit.", now.overflowing),
        counter("flagged_events", "Events handed on with status bits of errors.", now.flagged),
        counter("absent_events", "Events without any packet.", now.absent),
        counter("evicted_events", "Events that were evicted before they were asked for.", now.evicted),
        counter("lost_events", "Events that were lost with a handler.", now.lost),
        counter("left_behind_events", "Events that the first handler did not have.", now.left_behind),
        counter("duplicate_events", "Events that arrived again, and were not handed on again.", now.duplicates),
        counter("too_late_events", "Those of them with a part that the event had lacked.", now.too_late),
        counter("fragments", "Fragments handed on.", now.fragments),
        counter("bytes", "Size of these fragments, in bytes.", now.bytes),
        counter("wrong_fragments", "Damaged fragments, which were left out.", now.wrong),
        counter("reconnects", "Lost connections.", now.reconnects)};
    for (auto const& each : missing_parts()) {
        for (auto const& [what, count] : {std::pair{"all", each.without}, {"some", each.in_part}}) {
            auto& sample = samples.emplace_back(
                counter("missing_parts", "Events handed on that lack all or some of a handler's part.", count));
            sample.labels = {{"handler", each.address}, {"part", what}};
        }
    }
    return samples;
}

} // namespace thalweg::readout
