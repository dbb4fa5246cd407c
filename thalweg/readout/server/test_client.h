// The smallest client for tests of servers: it blocks, and sends one message after the other.
#pragma once

#include <arpa/inet.h>
#include <cstring>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/readout/protocol.h"
#include "thalweg/transport/address.h"

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

class TestClient {
  public:
    explicit TestClient(std::string const& address, int receive_buffer_bytes = 0)
        : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        auto const at = transport::parse_address(address);
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
    void take(Take take, std::uint32_t tag = 0) {
        if (take.seal == RangeSeal{}) take.seal = seal_of({});
        send(MessageType::take, &take, sizeof take, tag);
    }
    void clear(Clear const& clear, std::uint32_t tag = 0) { send(MessageType::clear, &clear, sizeof clear, tag); }
    void bye() { send(MessageType::bye, nullptr, 0); }

    Received receive() {
        Received message;
        message.end = !receive_bytes(&message.head, sizeof message.head);
        if (message.end) return message;
        message.body.resize(message.head.length_bytes);
        message.end = !receive_bytes(message.body.data(), message.body.size());
        return message;
    }
    bool has_answer(int timeout_ms) {
        pollfd wait{socket_.get(), POLLIN, 0};
        return ::poll(&wait, 1, timeout_ms) == 1;
    }
    Received ask(Get const& what) { return get(what), receive(); }
    Taken ask(Take const& what) { return take(what), receive().as<Taken>(); }
    bool ask(Clear const& what) { return clear(what), receive().as<Cleared>().done == 1; }
    int fd() const { return socket_.get(); }

  private:
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

    base::FileDescriptor socket_;
};

} // namespace thalweg::readout
