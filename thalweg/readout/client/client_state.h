// What a client knows of its handlers and of the ranges on their way. client.cc turns the loop, client_requests.cc
// asks, client_answers.cc understands, client_events.cc puts events together.
#pragma once

#include <array>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <unordered_map>

#include "thalweg/readout/client/client.h"
#include "thalweg/readout/client/client_credit.h"
#include "thalweg/readout/client/client_history.h"
#include "thalweg/readout/client/client_keeper.h"
#include "thalweg/readout/client/client_link.h"
#include "thalweg/readout/client/client_range.h"

namespace thalweg::readout {

struct Client::State {
    struct Connection {
        Link link;
        std::size_t handler;
        bool was_up = false;
    };
    // Somebody else still owned (some of) it: a collector that died, of which the handler that gave the range to us
    // knew so before this one.
    struct RefusedClear {
        OwnRange range;
        std::uint64_t next_try_ns = 0;
        std::uint64_t give_up_ns = 0;
    };
    struct HandlerState {
        std::string address;
        std::vector<Connection*> connections;
        Welcome welcome;                        // instance 0: never met
        std::uint64_t away_since_ns = 0;        // 0: it is here
        std::size_t coming = 0;                 // connections that are not greeted yet
        double event_bytes = 0;                 // of its share of an event, about, and rather more
        std::uint32_t run = 0;                  // of which it has sent events
        std::uint64_t without_run_since_ns = 0; // it refuses the run of which it is asked; 0: it does not
        std::uint64_t next_ask_ns = 0;
        std::vector<OwnRange> clears; // for when it is back
        std::vector<RefusedClear> refused_clears;
        std::uint64_t anew_until = 0; // it knows nothing of our ranges of events before: it was started anew
        bool takes_lost = false;      // with a connection: ranges may be ours that we do not know of
        // Of handlers that do not give ranges away: what they have that nobody asks for.
        bool asks_for_rest = false; // a take is under way
        bool has_no_rest = false;   // it said so at the end, or serves another run
        std::uint64_t next_rest_ns = 0;
    };
    struct Request {
        MessageType type = MessageType::get;
        Connection* connection = nullptr;
        Range* range = nullptr;       // of a get; none: it is a mere sign of life
        OwnRange cleared;             // of a clear
        std::uint64_t give_up_ns = 0; // of a clear that was refused before: then it is refused for good
        Key key = {};                 // of a take: what is given is sealed with it
        std::uint64_t reserved_bytes = 0;
        std::uint64_t sent_ns = 0;
    };

    explicit State(ClientOptions const& options);

    // client.cc
    void turn(std::uint64_t wait_ns);
    void serve(Connection& connection, transport::Ready const& ready);
    void look_after(Connection& connection, std::uint64_t now);
    void connection_lost(Connection& connection);
    void look_for_silence(std::uint64_t now);
    void stood_still(std::uint64_t since_ns, std::uint64_t now);
    void tell_keeper(std::uint64_t now);
    void flush();
    void part(std::uint64_t until_ns);
    void publish();

    // client_requests.cc
    void greet(Connection& connection);
    void ask(bool take_more);
    void take_ranges();
    void take_what_is_left();
    void sample_ranges();
    bool request(Range& range, std::size_t handler);
    void clear(HandlerState& handler, OwnRange const& range, std::uint64_t give_up_ns = 0);
    void clear_again(std::uint64_t now);
    void claim(Connection& connection, OwnRange const& range);
    void renew(std::uint64_t now);
    std::uint32_t add_request(Request const& request);
    void forget_request(std::uint32_t tag);
    void add_range(RangeId const& id, Seal const& seal);
    void own(Taken const& taken, Key const& key);

    // client_answers.cc
    void handle(Connection& connection, ReceivedMessage message);
    void on_welcome(Connection& connection, ReceivedMessage const& message);
    void on_taken(Request const& request, Taken const& taken);
    void on_cleared(Request const& request, Cleared const& cleared);
    void on_left_behind(HandlerState& handler, Request const& request, Taken const& taken);
    bool has_ended(std::uint64_t now);
    bool is_over_and_away(std::size_t handler) const;
    bool is_known(Taken const& taken) const; // and not yet committed
    void on_events(Request const& request, ReceivedMessage message);
    void on_wrong_run(Range& range, std::size_t handler);
    void on_refused(Connection& connection, Request const* request, ReceivedMessage const& message);
    void part_failed(Range& range, std::size_t handler);
    void give_back(Connection& connection);
    void begun_anew(std::size_t handler, Welcome const& welcome);

    // client_events.cc
    void hand_on(EventSink const& sink);
    void hand_on(Range& range, EventSink const& sink);
    bool put_together(Range& range, std::uint64_t index);
    void read_fragments(Piece const& piece);

    ClientOptions options;
    std::array<std::uint64_t, 2> client_id;
    std::vector<std::byte> hello; // its body
    std::mt19937_64 random;
    transport::Poller poller;
    MessagePool pool;
    Credit credit;
    std::list<Connection> connections;
    std::vector<Connection*> by_key;
    std::vector<HandlerState> handlers;
    std::unordered_map<std::uint32_t, Request> requests; // by tag
    std::uint32_t next_tag = 1;
    std::uint64_t most_message_bytes = 0;

    std::list<Range> ranges; // the oldest first
    std::list<Range> spare_ranges;
    std::deque<OwnRange> uncommitted;
    std::size_t takes = 0; // under way
    std::uint64_t next_take_ns = 0;
    bool take_few = false; // there was no whole range for a while: the next one may have any length
    std::uint64_t next_look_ns = 0;
    std::uint64_t turned_ns = 0; // when the last turn ended
    std::uint64_t sample_at = 0; // of observers: the next range begins here; 0: ask what is there
    bool ended = false;          // the run is over, and all of it is given away
    std::uint64_t taken_end = 0; // behind the last event that was taken
    std::uint64_t anew_from =
        0;                      // the first handler was started anew when all before it was taken: it goes on behind it
    std::uint64_t ended_ns = 0; // when we heard so
    bool gap_possible = false;
    History gaps; // that are counted
    History history;
    std::uint32_t history_run = 0;

    Event event; // the one that is put together
    std::vector<FragmentView> fragments;
    std::uint64_t event_bytes = 0; // of these

    ClientCounters counters;
    mutable std::mutex mutex; // guards the next three, for other threads
    ClientCounters published;
    std::uint32_t run = 0;
    std::string waiting_for;
    std::optional<Keeper> keeper;
};

} // namespace thalweg::readout
