// Collects whole events from many handlers. It takes ranges from the first of them, and from the others what that one
// knows nothing of; asks all for their fragments, puts events together, checks them, and hands them on in order within
// a range.
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
    std::vector<std::string> handlers; // addresses; the first one gives out ranges
    std::string token;
    std::uint32_t range_events = 256;      // of one request
    std::uint64_t credit_bytes = 32 << 20; // asked for and not yet here, of all handlers together
    std::uint32_t ranges_in_flight = 8;
    std::uint32_t deadline_ms = 1000; // of one request
    std::uint32_t connections = 1;    // to each handler
    std::uint64_t reconnect_ns = 200'000'000;
    std::uint64_t give_up_ns = 0; // a handler that is away for so long: run() throws; 0: it waits for ever
    // What a handler has not closed so long after it was asked, it will not close: it is counted as lost.
    std::uint64_t patience_ns = 10'000'000'000;
    std::uint64_t answer_ns = 5'000'000'000; // behind the deadline of a request; then its connection is made anew
    // While a callback takes long our ranges stay ours, but no longer than this: it is taken for hung then.
    std::uint64_t longest_callback_ns = 600'000'000'000;
    Role role = Role::collector;
    double sample_fraction = 1; // of the ranges, for observers
};

// Valid during the callback.
struct Event {
    std::uint32_t run = 0;
    std::uint64_t event = 0;
    // evicted: one handler or more had to give up its part; incomplete: something else is missing of it. What no
    // handler has anything of is not handed on.
    EventState state = EventState::complete;
    std::uint32_t handlers_missing = 0;      // handlers that had nothing of it
    std::uint64_t latency_ns = 0;            // from the request to its last fragment
    std::span<FragmentView const> fragments; // by handler, then as the handler sent them
};

struct RangeId {
    std::uint32_t run = 0;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};

// What events are handed to. Called by run()'s thread.
struct EventSink {
    std::function<void(Event const&)> event;
    // All events of a range were handed on. When they are safe, give the range (or the first events of it) to
    // Client::commit.
    std::function<void(RangeId const&)> end_of_range;
    // Every few milliseconds, also when nothing comes.
    std::function<void()> idle;
};

// Every event of a range is handed on, or counted as one of absent, cleared, evicted, lost, duplicates.
struct ClientCounters {
    std::uint64_t events = 0; // handed on: complete + incomplete
    std::uint64_t complete = 0;
    std::uint64_t incomplete = 0;
    std::uint64_t absent = 0;      // no handler has seen any of it
    std::uint64_t cleared = 0;     // somebody has it already
    std::uint64_t evicted = 0;     // nothing is left of it
    std::uint64_t lost = 0;        // gone with a handler that was started anew, or that would not give it
    std::uint64_t parts_lost = 0;  // the same of one handler each; what others have of the event is handed on
    std::uint64_t left_behind = 0; // of ranges that the first handler did not give: it knows nothing of them
    std::uint64_t again = 0;       // of ranges that somebody else had before
    std::uint64_t duplicates = 0;  // events that this client had handed on before, and did not hand on again
    std::uint64_t fragments = 0;
    std::uint64_t bytes = 0;
    std::uint64_t wrong = 0; // fragments that are not what their header says, or of another event
    std::uint64_t reconnects = 0;
    std::uint64_t gaps = 0;           // events between two ranges that no handler knows of any more
    std::uint64_t refused_clears = 0; // ranges that a handler keeps for another collector, though they are safe here
    std::uint64_t max_outstanding_bytes = 0;
};

class Client {
  public:
    explicit Client(ClientOptions const& options);
    ~Client(); // waits a second at most until handlers have heard that we go

    // Until stop(), or until the handlers say that the run has ended and everything is handed on. Throws what the sink
    // throws; base::SystemError where a handler stays away; base::UsageError where it refuses us. From here to
    // settle() a thread renews our leases, whatever the sink does meanwhile.
    void run(EventSink const& sink);
    void stop() { stop_ = true; } // from any thread; a range that is being handed on is finished
    // The range is safe: handlers may forget it. From run()'s thread.
    void commit(RangeId const& range);
    // After run(), while ranges are still to be committed: sends, receives, and keeps them ours, so long.
    void keep_up(std::uint64_t duration_ns);
    // After run(): the same until handlers have answered everything that was committed; false: not in time. A handler
    // that refuses a clear is tried again for two of its leases, whatever the time. Ranges that
    // were not committed are given back when this object goes; until then they are ours for a lease more.
    bool settle(std::uint64_t timeout_ns);

    ClientCounters counters() const;  // from any thread
    std::uint32_t run_number() const; // 0: not known yet
    std::string waiting_for() const;  // handlers that are away, and why; empty: all are here
    std::vector<trace::Sample> samples() const;

  private:
    struct State;
    std::atomic<bool> stop_ = false;
    std::unique_ptr<State> state_;
};

} // namespace thalweg::readout
