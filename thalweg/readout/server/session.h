// One client's conversation: bytes in, answers out. It knows no sockets, and no other client.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/readout/server/outbox.h"
#include "thalweg/readout/server/serving_context.h"

namespace thalweg::readout {

// The whole message.
ByteBuffer refusal(Problem const& problem, std::uint32_t run, std::uint32_t tag);

class Session {
  public:
    // `key` is unique among the sessions of a context.
    Session(ServingContext& context, std::uint64_t key, base::FileDescriptor const* socket = nullptr)
        : context_(context), key_(key), outbox_(context.pool, socket) {}
    Session(Session const&) = delete;
    Session& operator=(Session const&) = delete;
    ~Session();

    // Where received bytes go; none while its requests have to wait.
    std::span<std::byte> room();
    void received(std::size_t bytes);
    // Of a client that has gone: where the rest of what it said goes, and what it cleared or gave back in it. Nothing
    // is answered.
    std::span<std::byte> space();
    void take_final_messages(std::size_t bytes);
    // Requests that waited because too much was queued, if that has changed.
    void proceed();

    // A request of ours that has waited: it is answered, if there is something or its time has come, or waits
    // again.
    void resume(PendingRequest const& pending);
    // False: there is nothing for it yet.
    bool try_take(Request const& request);
    void no_longer_pending(std::uint64_t id);

    Outbox& outbox() { return outbox_; }
    bool has_said_hello() const { return greeted_; }
    Role role() const { return role_; }
    // The server's thread goes on to others after so many bytes of answers, and comes back.
    void begin_turn() { turn_bytes_ = 0; }
    // Requests wait for nothing but the next turn, or for memory.
    bool has_more_to_do() const { return !over_ && !outbox_.blocked() && !outbox_.broken() && is_held_up_; }
    bool over() const { return over_; } // nothing more will be said once the outbox is empty

  private:
    static constexpr std::size_t kMaxWaiting = 64;
    static constexpr std::uint32_t kMaxDeadlineMs = 60'000;
    static constexpr std::uint64_t kTurnBytes = 1 << 20;
    static constexpr std::uint64_t kObserversBytes = 256 << 10; // of an answer, or one event

    bool may_answer() const;
    bool may_send();
    PendingRequests& requests_of_role() {
        return role_ == Role::observer ? context_.pending_of_observers : context_.pending;
    }
    void handle(Message const& message);
    void greet(Message const& message);
    void handle(Request const& request);
    void get(Request const& request);
    void clear(Request const& request);
    void keep_pending(Request const& request);
    void send_events(Request const& request, bool with_open);
    void send_pieces(Request const& request, Index::Limits const& limits);
    void put_head(std::byte* at, Request const& request, std::uint64_t next, std::uint64_t bytes) const;
    void count(Request const& request, Index::Tally const& tally);
    void answered(Request const& request);
    void refuse(Problem const& problem, std::uint32_t tag);
    template <typename Body> void say(MessageType type, std::uint32_t tag, Body const& body);

    bool is_served(std::uint32_t run) const { return context_.served.run != 0 && run == context_.served.run; }

    ServingContext& context_;
    std::uint64_t key_;
    Outbox outbox_;
    Role role_ = Role::collector;
    OwnerId owner_ = {};
    bool greeted_ = false;
    bool admitted_ = false;
    bool is_held_up_ = false;
    std::uint64_t turn_bytes_ = 0; // of answers in this turn
    bool over_ = false;
    bool waited_ = false;
    std::vector<std::uint64_t> pending_; // ids
    std::vector<Request> due_;           // wait until the client has taken more
    std::size_t begin_ = 0, end_ = 0;    // of what is not yet handled in inbox_
    std::array<std::byte, kMaxClientMessageBytes> inbox_;
};

} // namespace thalweg::readout
