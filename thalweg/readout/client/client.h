// Collects whole events from many handlers. The client takes ranges of events from the first handler, and from the
// others only events that the first one does not know. It asks all handlers for the fragments, assembles and checks the
// events, and hands them on in order within a range.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thalweg/readout/fragment.h"
#include "thalweg/readout/protocol.h"
#include "thalweg/trace/sample.h"

namespace thalweg::readout {

struct ClientOptions {
    std::vector<std::string> handlers; // addresses; the first handler gives ranges away
    std::string token;
    std::string token_file; // where it comes from: it is read again if a handler refuses the token; empty: never
    // run() throws if a handler that knew the client refuses it for so long.
    std::uint64_t token_ns = 120'000'000'000;
    std::uint32_t range_events = 256;      // limit of one request
    std::uint64_t credit_bytes = 32 << 20; // limit of bytes that are requested and not received, over all handlers
    bool find_credit = false; // the client finds how much of `credit_bytes` it uses, from goodput and delay
    std::uint32_t ranges_in_flight = 8;
    std::uint32_t deadline_ms = 1000; // limit of one request
    std::uint32_t connections = 1;    // to each handler
    std::uint64_t reconnect_ns = 200'000'000;
    std::uint64_t give_up_ns = 0; // run() throws if a handler is away for so long; 0: it waits without limit
    // An event that a handler has not closed so long after it was asked counts as lost.
    std::uint64_t patience_ns = 10'000'000'000;
    // A handler that has ended its run while the first one goes on is expected back within this time: until then later
    // events wait for it, and then they are handed on without it.
    std::uint64_t return_ns = 30'000'000'000;
    std::uint64_t answer_ns = 5'000'000'000; // an answer may be so late after the deadline; then the client reconnects
    // The longest callback. The client keeps its ranges while a callback runs, but no longer than this: it then counts
    // as hung.
    std::uint64_t longest_callback_ns = 600'000'000'000;
    ClientRole role = ClientRole::collector;
    double sample_fraction = 1; // for observers: share of the ranges that are sampled
};

// An event that is handed on. It is valid during the callback.
struct Event {
    std::uint32_t run = 0;
    std::uint64_t event = 0;
    // evicted: one or more handlers had given up their part. incomplete: something else is missing. An event of which
    // no handler has anything is not handed on.
    EventState state = EventState::complete;
    std::uint32_t handlers_missing = 0;      // handlers that had no part of it
    std::uint64_t latency_ns = 0;            // time from the request to its last fragment
    std::span<FragmentView const> fragments; // ordered by handler, then as the handler sent them
};

struct RangeId {
    std::uint32_t run = 0;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};

// The functions that get the events. The thread of run() calls them.
struct EventSink {
    std::function<void(Event const&)> event;
    // All events of a range were handed on, or its first ones if the others have to wait for a handler that has ended
    // its run. When they are safe, give the range (or its first events) to Client::commit.
    std::function<void(RangeId const&)> end_of_range;
    // Called every few milliseconds, also when no events come.
    std::function<void()> idle;
};

// The counters of a client. Every event of a range is handed on, or counted in one of absent, cleared, evicted, lost,
// duplicates.
struct ClientCounters {
    std::uint64_t events = 0; // handed on: complete + incomplete
    std::uint64_t complete = 0;
    std::uint64_t incomplete = 0;
    std::uint64_t overflowing = 0; // events handed on without a payload that did not fit into its fragment
    std::uint64_t flagged = 0;     // events handed on with other status bits that say that something was wrong
    std::uint64_t absent = 0;      // events that no handler has seen
    std::uint64_t cleared = 0;     // events that a collector has already
    std::uint64_t evicted = 0;     // events of which all parts were evicted
    std::uint64_t lost = 0;        // events that went with a restarted handler, or that it did not send
    std::uint64_t parts_lost = 0; // parts of one handler that were lost in the same ways, of events that were handed on
    std::uint64_t left_behind = 0; // events of ranges that another handler than the first one gave
    std::uint64_t again = 0;       // events of ranges that another collector had before
    std::uint64_t duplicates = 0;  // events that this client had handed on before, and left out now
    std::uint64_t too_late = 0;    // those of them that had a part which the event lacked when it was handed on
    std::uint64_t fragments = 0;
    std::uint64_t bytes = 0;
    std::uint64_t wrong = 0; // fragments that differ from their header, or belong to another event
    std::uint64_t reconnects = 0;
    std::uint64_t tokens_read = 0;    // how often `token_file` had another token
    std::uint64_t gaps = 0;           // events between two ranges that no handler knows any more
    std::uint64_t refused_clears = 0; // ranges that are safe here although a handler keeps them for another collector
    std::uint64_t max_outstanding_bytes = 0;
};

// What events that were handed on lack of one handler. An event may lack something of several.
struct MissingParts {
    std::string address;
    std::uint64_t without = 0;   // events that have nothing of it
    std::uint64_t in_part = 0;   // events of which it had less than all
    std::uint32_t other_run = 0; // in which it was when events went on without it, if it had not begun this one
};

// A handler to which a client has no connection, or whose part of a run it waits for although it is there.
struct AwayHandler {
    std::string address;
    std::string why;
    bool is_there = false;  // it is not in the run in which the others are
    bool is_missed = true;  // the client waits for it; otherwise it goes on without it
    bool was_met = false;   // it has welcomed this client before
    bool may_leave = false; // the run is over, and all of it was given away
};

class Client {
  public:
    explicit Client(ClientOptions const& options);
    ~Client(); // waits up to a second until the handlers have received the bye

    // Runs until stop(), or until the handlers report the end of the run and everything was handed on. Throws what the
    // sink throws, base::SystemError if a handler stays away, and base::UsageError if one refuses the client. From this
    // call to settle() a thread renews the client's leases, whatever the sink does meanwhile.
    void run(EventSink const& sink);
    void stop() { stop_ = true; } // from any thread; finishes the range that is being handed on
    // Tells the handlers that they may forget the range, because it is safe. Call it from the thread of run().
    void commit(RangeId const& range);
    // Sends, receives and renews the leases for so long. Call it after run() while ranges are still to be committed.
    void keep_up(std::uint64_t duration_ns);
    // Does the same until the handlers have answered for everything that was committed; returns false if the time is
    // over first. If a handler refuses a clear, it is asked again for two leases, whatever `timeout_ns` is. Ranges that
    // were not committed are given back by the destructor; until then they stay with this client for one more lease.
    bool settle(std::uint64_t timeout_ns);

    ClientCounters counters() const;                 // from any thread
    std::vector<MissingParts> missing_parts() const; // of each handler
    std::uint32_t run_number() const;                // 0: not known yet
    std::vector<AwayHandler> away() const;
    std::string waiting_for() const; // handlers, and why; empty: none
    std::vector<trace::Sample> samples() const;

  private:
    struct State;
    std::atomic<bool> stop_ = false;
    std::unique_ptr<State> state_;
};

} // namespace thalweg::readout
