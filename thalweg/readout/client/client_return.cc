// What becomes of events that lie behind the end of a handler's run.
#include <algorithm>

#include "thalweg/base/clock.h"
#include "thalweg/readout/client/client_state.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kTrialNs = 1'000'000'000;
constexpr std::uint32_t kAskDeadlineMs = 50;
constexpr std::uint64_t kPartOfPatience = 2; // a handler waits for collectors, too: usually as long as the patience

} // namespace

void Client::State::note_over(RemoteHandler& handler, bool is_over) {
    if (!is_over)
        handler.over_since_ns = 0;
    else if (handler.over_since_ns == 0)
        handler.over_since_ns = base::monotonic_ns();
}

bool Client::State::is_over_and_away(std::size_t index) const {
    auto const& handler = handlers[index];
    return handler.is_away() && (index == 0 ? ended : handler.has_no_rest);
}

// Returns whether the handler has no more of this range than it has sent, unless it begins anew.
bool Client::State::is_behind_end(ClientRange& range, std::size_t index) const {
    return range.part(index).is_behind_end || is_over_and_away(index);
}

// Returns whether the range waits only for handlers that may begin anew.
bool Client::State::waits_for_return(ClientRange& range) const {
    bool waits = false;
    for (std::size_t index = 0; index < handlers.size(); ++index) {
        if (range.part(index).next >= range.end()) continue;
        if (handlers[index].over_since_ns == 0 || !is_behind_end(range, index)) return false;
        waits = true;
    }
    return waits;
}

// Returns whether the handler waits until collectors have what it has built.
bool Client::State::drains(RemoteHandler const& handler, std::uint64_t now) const {
    return handler.over_since_ns != 0 && handler.is_ready() && now < handler.over_since_ns + options.return_ns;
}

// A handler that drains may take its time, so the wait begins again when it has left. If several drain at a time, each
// might hold what waits for another one, so they are not waited for.
bool Client::State::may_return(std::size_t index, std::uint64_t now) const {
    auto const& handler = handlers[index];
    bool const ended_alone = handler.over_since_ns != 0 && index != 0;
    for (std::size_t other = 1; ended_alone && other < handlers.size(); ++other)
        if (other != index && drains(handlers[other], now)) return false;
    auto const patience_ns = ended_alone ? options.return_ns : options.patience_ns;
    return now <= std::max(handler.over_since_ns, handler.away_since_ns) + patience_ns;
}

// Returns whether nothing is expected any more of a handler that is away: the run is over at the first one, which waits
// for collectors only so long. A handler that has sent events of this run has that time to come back from then on; the
// wait for any other one began when it was missed first.
bool Client::State::is_given_up(std::size_t index, std::uint64_t now) const {
    auto const& handler = handlers[index];
    auto const over_ns = handlers[0].over_since_ns;
    if (index == 0 || over_ns == 0 || !handler.is_away()) return false;
    auto const missed_ns = handler.without_run_since_ns != 0 ? handler.without_run_since_ns : handler.away_since_ns;
    auto const since_ns = handler.run == run ? std::max(over_ns, handler.away_since_ns) : missed_ns;
    return now > since_ns + options.patience_ns / kPartOfPatience;
}

// While a handler is away, all ranges in flight may wait for it, and no take would tell that the run is over. So the
// first handler is asked for what was left behind, which is next to nothing, and its answer says so.
void Client::State::ask_whether_over() {
    auto& connection = handlers[0].first_connection();
    auto const now = base::monotonic_ns();
    bool const is_any_away =
        std::any_of(handlers.begin() + 1, handlers.end(), [](auto const& it) { return it.is_away(); });
    bool const may_ask =
        is_any_away && takes == 0 && run != 0 && handlers[0].over_since_ns == 0 && now >= next_trial_ns;
    if (!may_ask || !connection.is_ready()) return;
    next_trial_ns = now + kTrialNs;
    ++takes;
    send_take_of_left_behind(connection, kAskDeadlineMs);
}

// A first handler that has left behind the end of its run gives nothing away any more, also if it could not say so.
void Client::State::look_for_end(std::uint64_t now) {
    auto const& first = handlers[0];
    bool const has_left = first.over_since_ns != 0 && first.is_away();
    auto const since_ns = std::max(first.over_since_ns, first.away_since_ns);
    if (has_left && now > since_ns + options.patience_ns / kPartOfPatience) ended = true;
}

void Client::State::look_at_end(ClientRange& range, std::size_t index, std::uint64_t now) {
    bool const all_end = index != 0 && handlers[0].over_since_ns != 0; // the run ends, and not this handler alone
    if (range.left_behind || all_end) { // it gave away all that it had, so it knows nothing of these events
        range.has_nothing(index);
    } else if (!may_return(index, now)) {
        range.lose(index, range.end());
    }
}

// Returns how many ranges may be taken. Ranges that wait for a handler to begin anew are not in flight, as long as they
// hold no more than the credit. Even then one is taken from time to time: its answer says whether the run is over, so
// that no handler will begin anew.
std::size_t Client::State::room_for_takes() {
    std::size_t in_flight = takes;
    std::uint64_t held_bytes = 0;
    for (auto& range : ranges) {
        bool const waits = waits_for_return(range);
        in_flight += waits ? 0 : 1;
        held_bytes += waits ? range.held_bytes() : 0;
    }
    auto const room = options.ranges_in_flight - std::min<std::size_t>(options.ranges_in_flight, in_flight);
    if (held_bytes <= options.credit_bytes || room == 0) return room;
    auto const now = base::monotonic_ns();
    if (takes > 0 || now < next_trial_ns) return 0;
    next_trial_ns = now + kTrialNs;
    return 1;
}

} // namespace thalweg::readout
