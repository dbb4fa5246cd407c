// The state and the loop of a client. client.cc has the loop and the connections, client_ask.cc the requests to the
// handlers, client_answers.cc their answers. Each idea has a class of its own: Requests, OwnRanges, TakenEvents,
// PendingClears (in a RemoteHandler), Sampler, EventAssembler, LeaseRenewer, PublishedState.
//
// The hand-over of a range, and the functions that move it:
//   wanted        take_ranges(), take_what_is_left(): a Take with a new key is sent
//   owned         on_taken(), on_left_behind() -> own(): it is in `uncommitted` and `ranges`
//   requested     request() asks each handler; on_events() takes the answers, connection_lost() asks again
//   whole         hand_on() gives its events to the sink, in order: EventAssembler
//   handed on     the sink makes them durable, and calls Client::commit()
//   committed     clear() tells each handler; on_cleared() notes the answer
//                 refused or away: PendingClears, clear_again(). given back: part() sends a bye
//
// A handler whose run is over while the first one's goes on may come back, as a new process that reads its buffer on
// (client_return.cc). Ranges that wait for it alone do not count as in flight, and their first events are handed on.
//
// Invariants:
//   1. A range is committed only after all its events were handed on and the sink says that they are durable.
//   2. Every range that a handler gave is in `uncommitted` until it is committed, or given back by the bye.
//   3. Every event of a range is handed on once, or counted once (EventAssembler).
//   4. The bytes of requested fragments never exceed the credit: they are reserved before the request is sent (Credit).
//      If the client finds the credit itself, no more is reserved after it fell until the rest has come (CreditFinder).
//   5. A tag belongs to one request at a time, and an answer counts only on the connection of its request.
//   6. If a handler gives a range again that this client has, it is only added to `uncommitted`, with its new key.
#pragma once

#include <array>
#include <list>
#include <memory>
#include <optional>

#include "thalweg/readout/client/client.h"
#include "thalweg/readout/client/client_range.h"
#include "thalweg/readout/client/client_token.h"
#include "thalweg/readout/client/credit_finder.h"
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
    void serve(HandlerConnection& connection, transport::Ready const& ready);
    void look_after(HandlerConnection& connection, std::uint64_t now);
    void connection_lost(HandlerConnection& connection);
    void look_for_silence(std::uint64_t now);
    void stood_still(std::uint64_t since_ns, std::uint64_t now);
    void tell_lease_renewer(std::uint64_t now);
    void flush();
    void part(std::uint64_t until_ns);
    void publish();
    void publish_away();
    bool is_missed(RemoteHandler const& handler, std::uint64_t now) const;
    std::string why_without_run(RemoteHandler const& handler, std::uint64_t now) const;
    void begin_run(std::uint32_t number);
    void hand_on(EventSink const& sink);

    // client_ask.cc
    void greet(HandlerConnection& connection);
    void ask(bool take_more);
    void take_ranges();
    void take_what_is_left();
    void send_take_of_left_behind(HandlerConnection& connection, std::uint32_t deadline_ms);
    void sample_ranges();
    bool request(ClientRange& range, std::size_t handler);
    void clear(RemoteHandler& handler, RangeToClear const& what);
    void send_clears(RemoteHandler& handler);
    void clear_again(std::uint64_t now);
    void claim(HandlerConnection& connection, OwnRange const& range);
    void renew(std::uint64_t now);
    std::uint64_t share_of_handler() const;
    std::uint32_t add_request(Request request);
    void add_range(RangeId const& id, RangeSeal const& seal);
    void own(Taken const& taken, RangeKey const& key);
    std::size_t room_for_takes();
    bool is_over_and_away(std::size_t handler) const;
    bool drains(RemoteHandler const& handler, std::uint64_t now) const;
    bool may_return(std::size_t handler, std::uint64_t now) const;
    bool is_behind_end(ClientRange& range, std::size_t handler) const;
    bool waits_for_return(ClientRange& range) const;
    bool is_given_up(std::size_t handler, std::uint64_t now) const;
    void ask_whether_over();
    void look_for_end(std::uint64_t now);
    void look_at_end(ClientRange& range, std::size_t handler, std::uint64_t now);
    std::uint64_t memory_to_ask() const;

    // client_token.cc
    std::vector<std::byte> hello_with(std::string const& its_token) const; // the body of a hello
    bool tries_another_token(HandlerConnection& connection, std::string const& why);

    // client_answers.cc
    void handle(HandlerConnection& connection, ReceivedMessage message);
    void on_welcome(HandlerConnection& connection, ReceivedMessage const& message);
    void on_taken(Request const& request, ReceivedMessage const& message);
    void on_range(Taken const& taken, RangeKey const& key);
    void check_size(Taken const& taken) const;
    void on_cleared(Request const& request, ReceivedMessage const& message);
    void on_left_behind(RemoteHandler& handler, Request const& request, Taken const& taken);
    bool has_ended(std::uint64_t now);
    void note_over(RemoteHandler& handler, bool is_over);
    void on_events(Request const& request, ReceivedMessage message);
    void on_wrong_run(ClientRange& range, std::size_t handler, std::uint32_t its_run);
    void on_refused(HandlerConnection& connection, Request const* request, ReceivedMessage const& message);
    void part_failed(ClientRange& range, std::size_t handler);
    void give_back(HandlerConnection& connection);
    void begun_anew(std::size_t handler, Welcome const& welcome);

    ClientOptions options;
    std::array<std::uint64_t, 2> client_id;
    ClientToken token;
    transport::Poller poller;
    MessagePool pool;
    std::list<HandlerConnection> connections;
    std::vector<HandlerConnection*> by_key;
    std::vector<RemoteHandler> handlers; // the first one gives ranges away
    Requests requests;
    std::optional<CreditFinder> credit_finder; // nothing: the credit is given
    std::uint64_t most_message_bytes = 0;

    std::list<ClientRange> ranges; // on their way, the oldest first
    std::list<ClientRange> spare_ranges;
    OwnRanges uncommitted;
    TakenEvents taken_events;
    Sampler sampler;
    std::size_t takes = 0; // ranges that are on order at the first handler
    std::uint64_t next_take_ns = 0;
    std::uint64_t next_trial_ns = 0; // of a take although waiting ranges hold as much as they may
    bool take_few = false;           // no whole range came for a while: the next one may have any length
    std::uint32_t run_before = 0;    // it was over when the client came, so the client waits for the next one
    bool ended = false;              // the run is over, and all of it was given away
    std::uint64_t ended_ns = 0;      // time when the client learned that
    std::uint64_t next_look_ns = 0;
    std::uint64_t turned_ns = 0; // end of the last turn

    ClientCounters counters;
    EventAssembler assembler;
    std::uint32_t run = 0;
    PublishedState published;
    std::optional<LeaseRenewer> lease_renewer;
};

} // namespace thalweg::readout
