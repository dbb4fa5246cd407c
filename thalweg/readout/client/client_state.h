// What turns a client's loop. client.cc has the loop and the connections, client_ask.cc what is asked of handlers,
// client_answers.cc what they say. Each idea of its own has a class: Requests, OwnRanges, TakenEvents, PendingClears
// (of a RemoteHandler), Sampler, EventAssembler, LeaseRenewer, PublishedState.
#pragma once

#include <array>
#include <list>
#include <memory>
#include <optional>

#include "thalweg/readout/client/client.h"
#include "thalweg/readout/client/client_range.h"
#include "thalweg/readout/client/event_assembler.h"
#include "thalweg/readout/client/lease_renewer.h"
#include "thalweg/readout/client/own_ranges.h"
#include "thalweg/readout/client/published_state.h"
#include "thalweg/readout/client/remote_handler.h"
#include "thalweg/readout/client/requests.h"
#include "thalweg/readout/client/sampler.h"
#include "thalweg/readout/client/taken_events.h"

namespace thalweg::readout {

struct Client::State {
    using Request = ClientRequest;

    explicit State(ClientOptions const& options);

    // client.cc
    void turn(std::uint64_t wait_ns);
    void serve(Connection& connection, transport::Ready const& ready);
    void look_after(Connection& connection, std::uint64_t now);
    void connection_lost(Connection& connection);
    void look_for_silence(std::uint64_t now);
    void stood_still(std::uint64_t since_ns, std::uint64_t now);
    void tell_lease_renewer(std::uint64_t now);
    void flush();
    void part(std::uint64_t until_ns);
    void publish();
    void begin_run(std::uint32_t number);
    void hand_on(EventSink const& sink);

    // client_ask.cc
    void greet(Connection& connection);
    void ask(bool take_more);
    void take_ranges();
    void take_what_is_left();
    void sample_ranges();
    bool request(Range& range, std::size_t handler);
    void clear(RemoteHandler& handler, OwnRange const& range, std::uint64_t give_up_ns = 0);
    void clear_again(std::uint64_t now);
    void claim(Connection& connection, OwnRange const& range);
    void renew(std::uint64_t now);
    std::uint32_t add_request(Request request);
    void add_range(RangeId const& id, Seal const& seal);
    void own(Taken const& taken, Key const& key);
    bool is_over_and_away(std::size_t handler) const;

    // client_answers.cc
    void handle(Connection& connection, ReceivedMessage message);
    void on_welcome(Connection& connection, ReceivedMessage const& message);
    void on_taken(Request const& request, Taken const& taken);
    void on_cleared(Request const& request, Cleared const& cleared);
    void on_left_behind(RemoteHandler& handler, Request const& request, Taken const& taken);
    bool has_ended(std::uint64_t now);
    void on_events(Request const& request, ReceivedMessage message);
    void on_wrong_run(Range& range, std::size_t handler);
    void on_refused(Connection& connection, Request const* request, ReceivedMessage const& message);
    void part_failed(Range& range, std::size_t handler);
    void give_back(Connection& connection);
    void begun_anew(std::size_t handler, Welcome const& welcome);

    ClientOptions options;
    std::array<std::uint64_t, 2> client_id;
    std::vector<std::byte> hello; // its body
    transport::Poller poller;
    MessagePool pool;
    std::list<Connection> connections;
    std::vector<Connection*> by_key;
    std::vector<RemoteHandler> handlers; // the first one gives ranges away
    Requests requests;
    std::uint64_t most_message_bytes = 0;

    std::list<Range> ranges; // on their way, the oldest first
    std::list<Range> spare_ranges;
    OwnRanges uncommitted;
    TakenEvents taken_events;
    Sampler sampler;
    std::size_t takes = 0; // under way with the first handler
    std::uint64_t next_take_ns = 0;
    bool take_few = false;      // there was no whole range for a while: the next one may have any length
    bool ended = false;         // the run is over, and all of it is given away
    std::uint64_t ended_ns = 0; // when we heard so
    std::uint64_t next_look_ns = 0;
    std::uint64_t turned_ns = 0; // when the last turn ended

    ClientCounters counters;
    EventAssembler assembler;
    std::uint32_t run = 0;
    PublishedState published;
    std::optional<LeaseRenewer> lease_renewer;
};

} // namespace thalweg::readout
