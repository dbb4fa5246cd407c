#include "thalweg/readout/server/session.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"

namespace thalweg::readout {
namespace {

constexpr std::size_t kHeadBytes = sizeof(MessageHead) + sizeof(EventsHead);

std::string problem_of_run(std::string const& name, ServedRun const& served, std::uint32_t asked) {
    if (served.run == 0) return fmt::format("{} has no run {}: none was started yet", name, asked);
    return fmt::format("{} serves run {}, not {}", name, served.run, asked);
}

} // namespace

Session::~Session() {
    for (auto const id : pending_) requests_of_role().remove(id);
    if (admitted_) context_.quota->leave(role_);
    set_uninformed(false);
}

std::span<std::byte> Session::room() { return over_ || !may_answer() ? std::span<std::byte>() : space(); }

std::span<std::byte> Session::space() {
    if (begin_ > 0) {
        std::memmove(inbox_.data(), inbox_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    return std::span(inbox_).subspan(end_);
}

void Session::received(std::size_t bytes) {
    THALWEG_ASSERT(bytes <= inbox_.size() - end_, "no more bytes arrive than there was room for");
    end_ += bytes;
    proceed();
}

void Session::take_final_messages(std::size_t bytes) {
    THALWEG_ASSERT(bytes <= inbox_.size() - end_, "no more bytes arrive than there was room for");
    end_ += bytes;
    while (!over_) {
        auto const framed = frame(std::span(inbox_).subspan(begin_, end_ - begin_));
        over_ = framed.problem.has_value();
        if (!framed.message) break;
        begin_ += framed.message->bytes();
        auto const type = framed.message->head.type;
        if (greeted_ && (type == MessageType::clear || type == MessageType::bye)) handle(*framed.message);
    }
}

bool Session::may_answer() const {
    return queued_bytes() < context_.config.queued_bytes && pending_.size() + due_.size() < kMaxWaiting &&
           !outbox_.broken();
}

// Returns whether an answer may be built now. If the socket does not accept it, it would only use memory, and leave the
// caches before it is sent.
bool Session::may_send() {
    is_held_up_ = !context_.quota->has_room(role_) || turn_bytes_ >= kTurnBytes;
    return !is_held_up_ && !outbox_.blocked();
}

void Session::proceed() {
    is_held_up_ = false;
    while (!due_.empty() && !over_ && queued_bytes() < context_.config.queued_bytes && may_send()) {
        auto const request = due_.front();
        due_.erase(due_.begin());
        handle(request);
    }
    while (!over_ && may_answer()) {
        auto const framed = frame(std::span(inbox_).subspan(begin_, end_ - begin_));
        if (framed.problem) return refuse(*framed.problem, 0);
        if (!framed.message) break;
        begin_ += framed.message->bytes();
        handle(*framed.message);
    }
    if (!may_answer() && !waited_) context_.counters.waits.add(1);
    waited_ = !may_answer();
}

void Session::handle(ClientMessage const& message) {
    auto const type = message.head.type;
    if (type == MessageType::hello) return greet(message);
    if (!greeted_)
        return refuse({Refusal::not_allowed, "the first message of a connection is a hello"}, message.head.tag);
    auto* const index = context_.served.index;
    if (type == MessageType::bye) {
        if (index != nullptr && role_ == ClientRole::collector) index->leases().give_back(owner_, context_.now_ns);
        set_uninformed(false);
        over_ = true;
        return;
    }
    if (index != nullptr && role_ == ClientRole::collector) index->leases().renew(owner_, context_.now_ns);
    if (type == MessageType::share) return share(message);
    if (type == MessageType::release) return release(message);
    auto& counters = context_.counters;
    if (type == MessageType::clear) {
        counters.clears.add(1);
        return clear(clears_of(message));
    }
    auto request = request_of(message);
    request.arrived_ns = context_.now_ns;
    request.deadline_ns = context_.now_ns + std::min(request.deadline_ms, kMaxDeadlineMs) * std::uint64_t{1'000'000};
    (type == MessageType::take ? counters.takes : counters.gets).add(1);
    handle(request);
}

void Session::greet(ClientMessage const& message) {
    auto const tag = message.head.tag;
    if (greeted_) return refuse({Refusal::malformed, "a second hello"}, tag);
    Hello hello;
    std::memcpy(&hello, message.body.data(), sizeof hello);
    auto const token = message.body.subspan(sizeof hello);
    if (!same_token(token, context_.config.token))
        return refuse({Refusal::not_allowed, token.empty()
                                                 ? fmt::format("{} wants a token, and none was given", context_.name)
                                             : context_.config.token.empty()
                                                 ? fmt::format("{} expects no token, and one was given", context_.name)
                                                 : fmt::format("the token is not the one of {}", context_.name)},
                      tag);
    if (!context_.quota->admit(hello.role))
        return refuse({Refusal::busy,
                       fmt::format("{} has {} {}, and takes no more", context_.name, context_.quota->most(hello.role),
                                   hello.role == ClientRole::observer ? "observers" : "connections")},
                      tag);
    greeted_ = admitted_ = true;
    role_ = hello.role;
    owner_ = {hello.client[0], hello.client[1]};
    auto const& served = context_.served;
    if (served.index != nullptr && role_ == ClientRole::collector)
        served.index->leases().renew(owner_, context_.now_ns);
    Welcome const welcome{.instance = context_.instance,
                          .run = served.run,
                          .groups = served.groups,
                          .first_event = served.index ? served.index->first_event() : 0,
                          .closed_event = served.index ? served.index->closed_event() : 0,
                          .state = static_cast<std::uint32_t>(served.state),
                          .max_fragment_bytes = served.max_fragment_bytes,
                          .lease_ns = context_.config.lease_ns};
    say(MessageType::welcome, tag, std::as_bytes(std::span(&welcome, 1)));
}

std::optional<Problem> Session::problem_of(Request const& request) const {
    if (role_ == ClientRole::observer && request.type != MessageType::get)
        return Problem{Refusal::not_owner, "an observer takes and clears nothing"};
    if (auto problem = problem_of_range(request)) return problem;
    bool const any_run = request.type == MessageType::take && request.run == 0;
    if (!any_run && !is_served(request.run))
        return Problem{Refusal::wrong_run, problem_of_run(context_.name, context_.served, request.run)};
    return std::nullopt;
}

void Session::handle(Request const& request) {
    if (auto const problem = problem_of(request)) return refuse(*problem, request.tag);
    if (request.type == MessageType::get) return get(request);
    THALWEG_ASSERT(admitted_ && role_ == ClientRole::collector, "only collectors take and clear");
    if (!try_take(request)) keep_pending(request);
}

void Session::get(Request const& request) {
    if (!may_send()) return due_.push_back(request);
    auto& index = *context_.served.index;
    // Events that are too far ahead now are claimed when they are closed.
    if (role_ == ClientRole::collector)
        index.claim(request.first, request.count, {owner_, request.seal}, context_.now_ns,
                    context_.config.outstanding_events);
    if (request.end() <= index.closed_event()) return send_events(request, false);
    if (context_.served.ended || context_.now_ns >= request.deadline_ns) return send_events(request, true);
    keep_pending(request);
}

// Clears all ranges of a message, or none of them if one is refused.
void Session::clear(std::vector<Request> const& requests) {
    auto const tag = requests.front().tag;
    for (auto const& request : requests)
        if (auto const problem = problem_of(request)) return refuse(*problem, tag);
    THALWEG_ASSERT(admitted_ && role_ == ClientRole::collector, "only collectors take and clear");
    std::vector<Index::Clearing> clearings;
    clearings.reserve(requests.size());
    for (auto const& request : requests) clearings.push_back({{request.first, request.count}, request.seal});
    auto const done = context_.served.index->clear(owner_, clearings, context_.now_ns);
    std::vector<Cleared> answers;
    for (std::size_t i = 0; i < requests.size(); ++i)
        answers.push_back({requests[i].first, requests[i].count, done[i] ? 1u : 0u});
    answered(context_.now_ns);
    say(MessageType::cleared, tag, std::as_bytes(std::span(answers)));
}

bool Session::try_take(Request const& request) {
    auto const& served = context_.served;
    Taken taken{.run = served.run, .continues = served.continues, .is_over = served.ended};
    std::vector<TakenRange> more;
    for (std::size_t i = 0; served.index != nullptr && i <= request.more_seals.size(); ++i) {
        auto const taking = take_one(request, i == 0 ? request.seal : request.more_seals[i - 1]);
        if (!taking) break;
        auto const count = static_cast<std::uint32_t>(taking->range.count);
        if (i == 0)
            taken.first = taking->range.first, taken.count = count, taken.again = taking->again;
        else
            more.push_back({taking->range.first, count, taking->again});
    }
    // Other clients may die before they clear. Their ranges would then go to clients that still ask.
    if (taken.count == 0 && served.index != nullptr && served.ended) {
        bool const others_done = served.drained || served.index->leases().outstanding(owner_) == 0;
        taken.ended = others_done && !served.index->has_more();
    }
    set_uninformed(served.index != nullptr && taken.ended == 0);
    if (taken.count == 0 && taken.ended == 0 && context_.now_ns < request.deadline_ns) return false;
    answered(request.arrived_ns);
    say(MessageType::taken, request.tag, std::as_bytes(std::span(&taken, 1)), std::as_bytes(std::span(more)));
    return true;
}

std::optional<Leases::Taking> Session::take_one(Request const& request, RangeSeal const& seal) {
    auto const& served = context_.served;
    auto const held = served.index->leases().outstanding();
    auto const room = context_.config.outstanding_events - std::min(context_.config.outstanding_events, held);
    // Events that were left behind hold up all others, so they are given whatever else is outstanding.
    auto const count = request.left_behind ? request.count : std::min<std::uint64_t>(request.count, room);
    auto const min_count = served.ended ? 1 : std::clamp<std::uint64_t>(request.min_count, 1, request.count);
    if (count < min_count && !served.ended) return std::nullopt;
    RangeOwner const owner{owner_, seal};
    return request.left_behind ? served.index->take_left_behind(owner, count, context_.now_ns)
                               : served.index->take(owner, count, min_count, context_.now_ns);
}

void Session::set_uninformed(bool is_uninformed) {
    if (std::exchange(is_uninformed_, is_uninformed) == is_uninformed) return;
    auto& sum = context_.uninformed;
    THALWEG_ASSERT(is_uninformed || sum.get() > 0, "each uninformed session is counted once");
    sum.set(sum.get() + (is_uninformed ? 1 : std::uint64_t(-1)));
}

void Session::keep_pending(Request const& request) {
    pending_.push_back(requests_of_role().add(key_, request));
    THALWEG_ASSERT(pending_.size() + due_.size() <= kMaxWaiting, "a session has a limited number of waiting requests");
}

void Session::no_longer_pending(std::uint64_t id) { std::erase(pending_, id); }

void Session::resume(PendingRequest const& pending) {
    no_longer_pending(pending.id);
    due_.push_back(pending.request);
    proceed();
}

void Session::send_events(Request const& request, bool with_open) {
    auto const& config = context_.config;
    auto const most =
        role_ == ClientRole::observer ? std::min(kObserversBytes, config.queued_bytes) : config.queued_bytes;
    Index::Limits const limits{.count = request.count,
                               .max_bytes = std::min<std::uint64_t>(request.max_bytes, most),
                               .with_open = with_open,
                               .open_as = context_.served.ended ? EventState::absent : EventState::not_yet,
                               .is_behind_end = context_.served.ended};
    if (send_in_memory(request, limits)) return;
    if (config.iovec) return send_pieces(request, limits);
    auto answer = context_.pool.take();
    answer.room(kHeadBytes);
    answer.grow(kHeadBytes);
    Index::Tally tally;
    auto const next = context_.served.index->read(request.first, limits, context_.pin, answer, &tally);
    put_head(answer.data(), request, next, answer.size());
    turn_bytes_ += answer.size();
    outbox_.add(std::move(answer));
    outbox_.send();
    count(request, tally);
}

void Session::send_pieces(Request const& request, Index::Limits const& limits) {
    auto& pieces = context_.pieces;
    pieces.records.clear();
    pieces.records.room(kHeadBytes);
    pieces.records.grow(kHeadBytes);
    Index::Tally tally;
    context_.served.index->gather(request.first, limits, context_.pin, pieces, &tally, [&](std::uint64_t next) {
        put_head(pieces.records.data(), request, next, pieces.bytes);
        turn_bytes_ += pieces.bytes;
        outbox_.add_pieces(pieces.pieces);
    });
    count(request, tally);
}

EventsHead Session::head_of(Request const& request, std::uint64_t next) const {
    return {request.first, next, context_.served.run, static_cast<std::uint32_t>(next - request.first)};
}

void Session::put_head(std::byte* at, Request const& request, std::uint64_t next, std::uint64_t bytes) const {
    MessageHead const head{.type = MessageType::events,
                           .length_bytes = static_cast<std::uint32_t>(bytes - sizeof(MessageHead)),
                           .tag = request.tag};
    auto const events = head_of(request, next);
    std::memcpy(at, &head, sizeof head);
    std::memcpy(at + sizeof head, &events, sizeof events);
}

void Session::count(Request const& request, Index::Tally const& tally) {
    auto& counters = context_.counters;
    for (std::size_t i = 0; i < tally.events.size(); ++i) counters.events[i].add(tally.events[i]);
    counters.fragments.add(tally.fragments);
    counters.responses.add(1);
    answered(request.arrived_ns);
}

void Session::answered(std::uint64_t arrived_ns) {
    context_.now_ns = base::monotonic_ns();
    context_.counters.add_latency(context_.now_ns - std::min(context_.now_ns, arrived_ns));
}

void Session::refuse(Problem const& problem, std::uint32_t tag) {
    context_.counters.refusals[static_cast<std::size_t>(problem.why)].add(1);
    auto const message = refusal(problem, context_.served.run, tag);
    outbox_.add_small(message.bytes());
    over_ = problem.why == Refusal::malformed || problem.why == Refusal::not_allowed || problem.why == Refusal::busy;
}

void Session::say(MessageType type, std::uint32_t tag, std::span<std::byte const> body,
                  std::span<std::byte const> more) {
    MessageHead const head{
        .type = type, .length_bytes = static_cast<std::uint32_t>(body.size() + more.size()), .tag = tag};
    for (auto const bytes : {std::as_bytes(std::span(&head, 1)), body, more})
        if (!bytes.empty()) outbox_.add_small(bytes);
}

ByteBuffer refusal(Problem const& problem, std::uint32_t run, std::uint32_t tag) {
    ByteBuffer message;
    auto const bytes = static_cast<std::uint32_t>(sizeof(Refused) + problem.sentence.size());
    message.append(
        MessageHead{.version = problem.version, .type = MessageType::refused, .length_bytes = bytes, .tag = tag});
    message.append(Refused{problem.why, run});
    message.append(problem.sentence.data(), problem.sentence.size());
    return message;
}

} // namespace thalweg::readout
