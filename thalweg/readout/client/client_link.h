// One connection to one handler: messages out, messages in. It does not know what they mean.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/readout/client/client_pool.h"
#include "thalweg/readout/protocol.h"
#include "thalweg/transport/moving_address.h"
#include "thalweg/transport/poller.h"
#include "thalweg/transport/tcp.h"

namespace thalweg::readout {

struct ReceivedMessage {
    MessageHead head;
    MessageMemory memory;
    std::span<std::byte const> body() const { return {memory.data(), head.length_bytes}; }
};

constexpr auto kNoWelcome = "it sends no welcome, as the port of its metrics would";

class ClientLink {
  public:
    enum class Phase : std::uint8_t { away, connecting, greeting, ready };

    ClientLink(transport::MovingAddress address, transport::Poller& poller, std::uint64_t key)
        : address_(std::move(address)), poller_(poller), key_(key) {}

    Phase phase() const { return phase_; }
    std::string const& failure() const { return failure_; } // why it is away
    std::uint64_t since_ns() const { return since_ns_; }    // time when this phase began
    std::uint64_t last_sent_ns() const { return last_sent_ns_; }

    void connect();
    // Checks whether the connection was made. Returns true if it was, and the handler may be greeted.
    bool finish_connecting();
    void greeted() { enter(Phase::ready); }
    // Asks a handler on this host to put its answers into memory. Nothing happens if it is on another host.
    void ask_for_memory(std::uint64_t bytes);
    bool has_memory() const { return handler_memory_ != nullptr; }
    // Ends the connection and drops what was queued.
    void fail(std::string const& why);
    // Ends the connection in order, with a bye: everything queued arrives, if that is possible until `until_ns`.
    // Closing a socket with unread answers would reset the connection, and lose what is still on its way.
    void part(std::uint64_t until_ns, std::string const& why);

    template <class Body> void send(MessageType type, std::uint32_t tag, Body const& body) {
        queue(type, tag, std::as_bytes(std::span(&body, 1)), {});
    }
    void queue(MessageType type, std::uint32_t tag, std::span<std::byte const> body, std::span<std::byte const> more);
    void flush();

    // Returns the next complete message, or nothing if there is none (any more) or the connection has ended. The body
    // is received into its final place, together with the head of the next message. An answer in memory looks like
    // one that came over the socket.
    std::optional<ReceivedMessage> receive(MessagePool& pool, std::uint64_t most_bytes);

  private:
    void enter(Phase phase);
    void leave(std::string const& why);
    void fail_closed(int error); // by the other side
    void tell_released();
    std::optional<ReceivedMessage> receive_any(MessagePool& pool, std::uint64_t most_bytes);
    void take_memory(ReceivedMessage const& message);
    ReceivedMessage find_in_memory(ReceivedMessage const& message, std::uint64_t most_bytes) const;
    bool receive_head();
    bool begin_body(MessagePool& pool, std::uint64_t most_bytes);
    // Returns false if no bytes came.
    bool receive_into(std::span<std::byte> room, std::size_t& bytes);

    transport::MovingAddress address_;
    transport::Poller& poller_;
    std::uint64_t key_;
    base::FileDescriptor socket_;
    Phase phase_ = Phase::away;
    std::string failure_;
    std::uint64_t since_ns_ = 0;
    std::uint64_t last_sent_ns_ = 0;

    std::vector<std::byte> out_;
    std::size_t sent_bytes_ = 0;
    bool waits_to_send_ = false;

    bool waits_for_memory_ = false;
    bool goes_without_memory_ = false;              // this process could not map it
    base::FileDescriptor memory_file_;              // has come, and the message that it belongs to has not
    std::shared_ptr<HandlerMemory> handler_memory_; // ranges may keep it longer than this connection
    std::uint64_t told_released_ = 0;

    std::array<std::byte, sizeof(MessageHead)> head_;
    std::size_t head_bytes_ = 0; // received bytes of the head
    std::optional<ReceivedMessage> message_;
    std::size_t body_bytes_ = 0; // received bytes of the body and of the next head
    bool drained_ = false;
};

} // namespace thalweg::readout
