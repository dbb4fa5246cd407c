// The conversation with one client: bytes in, answers out. It knows no other client; the socket belongs to its outbox.
//
// A session is in one of these states (docs/formats/readout-protocol.md has the messages):
//   new      greeted_ is false. The first message must be a hello: greet() -> greeted, anything else -> over
//   greeted  handle() answers each request at once, or moves it to pending_ (no events yet: keep_pending()) or to
//            due_ (the socket or memory is full). resume() moves a request from pending_ to due_, proceed() answers it
//   over     refuse() or a bye: the outbox is sent, and no further message is read
//
// Invariants:
//   1. A request is in one place: in inbox_, in pending_, in due_, or answered. Each gets one answer, unless the
//      connection ends first.
//   2. Requests are answered only while less than queued_bytes wait, in the outbox and in memory: may_answer(). The
//      memory has at most half of it, so a client that takes what its socket brings can always release memory.
//   3. pending_.size() + due_.size() is at most kMaxWaiting, because room() offers no room beyond it.
//   4. Only a collector that was admitted by the quota owns, takes or clears: handle(Request).
//   5. begin_ <= end_ <= inbox_.size(): bytes before begin_ are handled, bytes from end_ on are free.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "thalweg/readout/server/answer_memory.h"
#include "thalweg/readout/server/outbox.h"
#include "thalweg/readout/server/serving_context.h"

namespace thalweg::readout {

// Returns the whole message.
ByteBuffer refusal(Problem const& problem, std::uint32_t run, std::uint32_t tag);

class Session {
  public:
    // `key` is unique among the sessions of a context.
    Session(ServingContext& context, std::uint64_t key, base::FileDescriptor const* socket = nullptr)
        : context_(context), key_(key), outbox_(context.pool, socket) {}
    Session(Session const&) = delete;
    Session& operator=(Session const&) = delete;
    ~Session();

    // Returns room for received bytes. It is empty while the session's requests have to wait.
    std::span<std::byte> room();
    void received(std::size_t bytes);
    // Handles what a client that has gone had sent last: it obeys clear and bye, and answers nothing. space() returns
    // room for the bytes.
    std::span<std::byte> space();
    void take_final_messages(std::size_t bytes);
    // Goes on with requests that waited because too much was queued.
    void proceed();

    // Handles a request of this session that has waited. It is answered if there is something or its time has come;
    // otherwise it waits again.
    void resume(PendingRequest const& pending);
    // Returns false if there is nothing for it yet.
    bool try_take(Request const& request);
    void no_longer_pending(std::uint64_t id);

    Outbox& outbox() { return outbox_; }
    bool has_said_hello() const { return greeted_; }
    ClientRole role() const { return role_; }
    // Begins a turn. After so many bytes of answers the server's thread goes on to other connections, and comes back
    // later.
    void begin_turn() { turn_bytes_ = 0; }
    // Returns whether requests wait only for the next turn or for memory.
    bool has_more_to_do() const { return !over_ && !outbox_.blocked() && !outbox_.broken() && is_held_up_; }
    bool over() const { return over_; } // no further answer is added
    // Returns the bytes of answers in memory that the client has not released.
    std::uint64_t memory_bytes() const { return memory_ ? memory_->used_bytes() : 0; }

  private:
    static constexpr std::size_t kMaxWaiting = 64;
    static constexpr std::uint32_t kMaxDeadlineMs = 60'000;
    static constexpr std::uint64_t kTurnBytes = 1 << 20;
    static constexpr std::uint64_t kObserversBytes = 256 << 10; // limit of an answer, unless one event is larger

    std::uint64_t queued_bytes() const { return outbox_.bytes() + memory_bytes(); }
    bool may_answer() const;
    bool may_send();
    PendingRequests& requests_of_role() {
        return role_ == ClientRole::observer ? context_.pending_of_observers : context_.pending;
    }
    void handle(ClientMessage const& message);
    void greet(ClientMessage const& message);
    void handle(Request const& request);
    void get(Request const& request);
    std::optional<Leases::Taking> take_one(Request const& request, RangeSeal const& seal);
    void clear(std::vector<Request> const& requests);
    std::optional<Problem> problem_of(Request const& request) const;
    void keep_pending(Request const& request);
    void set_uninformed(bool is_uninformed);
    void share(ClientMessage const& message);
    void release(ClientMessage const& message);
    void send_events(Request const& request, bool with_open);
    bool send_in_memory(Request const& request, Index::Limits const& limits);
    void send_pieces(Request const& request, Index::Limits const& limits);
    EventsHead head_of(Request const& request, std::uint64_t next) const;
    void put_head(std::byte* at, Request const& request, std::uint64_t next, std::uint64_t bytes) const;
    void count(Request const& request, Index::Tally const& tally);
    void answered(std::uint64_t arrived_ns);
    void refuse(Problem const& problem, std::uint32_t tag);
    void say(MessageType type, std::uint32_t tag, std::span<std::byte const> body,
             std::span<std::byte const> more = {});

    bool is_served(std::uint32_t run) const { return context_.served.run != 0 && run == context_.served.run; }

    ServingContext& context_;
    std::uint64_t key_;
    Outbox outbox_;
    std::unique_ptr<AnswerMemory> memory_; // of a client on this host that asked for it
    bool has_shared_ = false;              // it has asked
    ClientRole role_ = ClientRole::collector;
    OwnerId owner_ = {};
    bool greeted_ = false;
    bool admitted_ = false;
    bool is_held_up_ = false;
    std::uint64_t turn_bytes_ = 0; // size of the answers in this turn
    bool is_uninformed_ = false;   // counted in context_.uninformed
    bool over_ = false;
    bool waited_ = false;
    std::vector<std::uint64_t> pending_; // ids
    std::vector<Request> due_;           // answered when the client has taken more
    std::size_t begin_ = 0, end_ = 0;    // the bytes of inbox_ that are not handled yet
    std::array<std::byte, kMaxClientMessageBytes> inbox_;
};

} // namespace thalweg::readout
