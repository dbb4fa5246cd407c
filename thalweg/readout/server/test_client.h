// The smallest client for tests of servers: it blocks, and sends one message after the other.
#pragma once

#include <arpa/inet.h>
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <span>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/readout/protocol.h"
#include "thalweg/transport/address.h"
#include "thalweg/transport/passed_memory.h"

namespace thalweg::readout {

struct Received {
    MessageHead head = {};
    std::vector<std::byte> body;
    bool end = false; // the server closed the connection, or sent nothing for 30 s

    template <typename T> T as() const {
        T value{};
        if (body.size() >= sizeof value) std::memcpy(&value, body.data(), sizeof value);
        return value;
    }
    std::string sentence() const {
        return body.size() < sizeof(Refused) ? std::string()
                                             : std::string(reinterpret_cast<char const*>(body.data()) + sizeof(Refused),
                                                           body.size() - sizeof(Refused));
    }
    // Returns what follows in the body from `at` on.
    template <typename T> std::vector<T> rest(std::size_t at = 0) const {
        std::vector<T> all;
        for (; at + sizeof(T) <= body.size(); at += sizeof(T)) std::memcpy(&all.emplace_back(), &body[at], sizeof(T));
        return all;
    }
    std::vector<EventRecord> records() const {
        std::vector<EventRecord> result;
        for (std::size_t at = sizeof(EventsHead); at + sizeof(EventRecord) <= body.size(); at += sizeof(EventRecord)) {
            std::memcpy(&result.emplace_back(), body.data() + at, sizeof(EventRecord));
            at += result.back().bytes;
        }
        return result;
    }
    std::string states() const {
        std::string text; // complete, incomplete, absent, Cleared, evicted, not yet
        for (auto const& record : records()) text += "ciaCen"[static_cast<int>(record.state)];
        return text;
    }
};

// The ways to the clients of a server: over TCP, where answers are copied together or sent from where they lie, over a
// Unix socket, and through memory.
enum class Way : std::uint8_t { flattened, scattered, local, memory };
inline bool is_local(Way way) { return way == Way::local || way == Way::memory; }
inline std::uint64_t memory_of(Way way) { return way == Way::memory ? 1 << 20 : 0; }

// Returns an address that is free: of TCP, or of a Unix socket.
inline std::string free_address(Way way) {
    static std::atomic<int> number = 0;
    if (!is_local(way)) return "127.0.0.1:0";
    return "unix:" + ::testing::TempDir() + "thalweg-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
}

class TestClient {
  public:
    static inline bool asks_for_memory = false; // after a welcome

    explicit TestClient(std::string const& address, int receive_buffer_bytes = 0)
        : TestClient(transport::parse_address(address), receive_buffer_bytes) {}
    TestClient(transport::Address const& at, int receive_buffer_bytes)
        : socket_(::socket(at.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        timeval const patience{30, 0};
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        if (receive_buffer_bytes > 0)
            ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
        EXPECT_EQ(0, ::connect(socket_.get(), reinterpret_cast<sockaddr const*>(&at.storage), at.size_bytes));
    }
    // Says hello, and expects a welcome.
    TestClient(std::string const& address, std::uint64_t id, ClientRole role = ClientRole::collector)
        : TestClient(address) {
        hello(id, role);
        EXPECT_EQ(receive().head.type, MessageType::welcome);
        if (asks_for_memory && role == ClientRole::collector) share();
    }

    bool send_bytes(void const* bytes, std::size_t count) {
        return ::send(socket_.get(), bytes, count, MSG_NOSIGNAL) == static_cast<ssize_t>(count);
    }
    void send(MessageType type, void const* body, std::size_t count, std::uint32_t tag = 0) {
        MessageHead const head{.type = type, .length_bytes = static_cast<std::uint32_t>(count), .tag = tag};
        std::vector<std::byte> bytes(sizeof head + count);
        std::memcpy(bytes.data(), &head, sizeof head);
        if (count > 0) std::memcpy(bytes.data() + sizeof head, body, count);
        send_bytes(bytes.data(), bytes.size());
    }
    void hello(std::uint64_t id, ClientRole role = ClientRole::collector, std::string const& token = "") {
        Hello const hello{role, static_cast<std::uint32_t>(token.size()), {id, id}};
        std::string body(reinterpret_cast<char const*>(&hello), sizeof hello);
        body += token;
        send(MessageType::hello, body.data(), body.size());
    }
    // Ranges are sealed with key 0 unless a test says otherwise.
    void get(Get get, std::uint32_t tag = 0) {
        if (get.seal == RangeSeal{}) get.seal = seal_of({});
        send(MessageType::get, &get, sizeof get, tag);
    }
    // Asks `count` times, with tags from 0 on. They are sent together, because a Unix socket has room for few messages.
    void get_often(Get get, std::uint32_t count) {
        get.seal = seal_of({});
        std::vector<std::byte> bytes(count * (sizeof(MessageHead) + sizeof get));
        auto* at = bytes.data();
        for (std::uint32_t tag = 0; tag < count; ++tag) {
            MessageHead const head{.type = MessageType::get, .length_bytes = sizeof get, .tag = tag};
            std::memcpy(at, &head, sizeof head);
            std::memcpy(at + sizeof head, &get, sizeof get);
            at += sizeof head + sizeof get;
        }
        send_bytes(bytes.data(), bytes.size());
    }
    void take(Take take, std::uint32_t tag = 0) {
        if (take.seal == RangeSeal{}) take.seal = seal_of({});
        send(MessageType::take, &take, sizeof take, tag);
    }
    // Takes several ranges.
    void take(Take const& take, std::vector<RangeSeal> const& more) {
        std::vector<std::byte> body(sizeof take + more.size() * sizeof(RangeSeal));
        std::memcpy(body.data(), &take, sizeof take);
        if (!more.empty()) std::memcpy(&body[sizeof take], more.data(), more.size() * sizeof(RangeSeal));
        send(MessageType::take, body.data(), body.size());
    }
    void clear(std::vector<Clear> const& clears) {
        send(MessageType::clear, clears.data(), clears.size() * sizeof(Clear));
    }
    void clear(Clear const& clear, std::uint32_t tag = 0) { send(MessageType::clear, &clear, sizeof clear, tag); }
    void bye() { send(MessageType::bye, nullptr, 0); }

    Received receive() {
        Received message;
        message.end = !receive_bytes(&message.head, sizeof message.head);
        if (message.end) return message;
        message.body.resize(message.head.length_bytes);
        message.end = !receive_bytes(message.body.data(), message.body.size());
        if (message.head.type == MessageType::in_memory) fetch(message);
        return message;
    }
    // Returns the size of the memory.
    std::uint64_t share(std::uint64_t bytes = 1 << 20) {
        Share const share{bytes};
        send(MessageType::share, &share, sizeof share);
        MessageHead head;
        auto const moved = receive_file(&head, sizeof head);
        EXPECT_TRUE(moved && head.type == MessageType::shared);
        Shared shared;
        if (!receive_bytes(&shared, sizeof shared) || shared.bytes == 0) return 0;
        memory_ = transport::map_sealed(file_, shared.bytes);
        return shared.bytes;
    }
    void release(std::uint64_t answers) {
        Release const release{answers};
        send(MessageType::release, &release, sizeof release);
    }
    bool releases = true; // an answer in memory as soon as it came
    std::uint64_t answers_in_memory() const { return answers_; }
    base::FileDescriptor const& memory_file() const { return file_; }
    transport::Mapping const& memory() const { return memory_; }
    InMemory last_place() const { return place_; }

    bool has_answer(int timeout_ms) {
        pollfd wait{socket_.get(), POLLIN, 0};
        return ::poll(&wait, 1, timeout_ms) == 1;
    }
    Received ask(Get const& what) { return get(what), receive(); }
    Taken ask(Take const& what) { return take(what), receive().as<Taken>(); }
    bool ask(Clear const& what) { return clear(what), receive().as<Cleared>().done == 1; }
    int fd() const { return socket_.get(); }

  private:
    // Makes it what it would have been over the socket.
    void fetch(Received& message) {
        auto const place = place_ = message.as<InMemory>();
        ASSERT_LE(place.offset + place.bytes, memory_.size());
        message.head.type = MessageType::events;
        message.head.length_bytes = static_cast<std::uint32_t>(place.bytes);
        message.body.assign(memory_.data() + place.offset, memory_.data() + place.offset + place.bytes);
        ++answers_;
        if (releases) release(answers_);
    }
    bool receive_file(void* bytes, std::size_t count) {
        pollfd wait{socket_.get(), POLLIN, 0};
        ::poll(&wait, 1, 30'000);
        std::span const room(static_cast<std::byte*>(bytes), count);
        return transport::receive_with_file(socket_, room, file_).bytes == count;
    }
    bool receive_bytes(void* bytes, std::size_t count) {
        auto* at = static_cast<char*>(bytes);
        while (count > 0) {
            auto const got = ::recv(socket_.get(), at, count, 0);
            if (got <= 0) return false;
            at += got;
            count -= static_cast<std::size_t>(got);
        }
        return true;
    }

    base::FileDescriptor socket_, file_;
    transport::Mapping memory_;
    InMemory place_;
    std::uint64_t answers_ = 0;
};

} // namespace thalweg::readout
