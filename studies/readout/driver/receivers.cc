#include "studies/readout/driver/receivers.h"

#include <cstring>
#include <deque>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/readout/protocol.h"
#include "thalweg/transport/passed_memory.h"
#include "thalweg/transport/poller.h"
#include "thalweg/transport/tcp.h"

namespace thalweg::study {
namespace {

class Receivers {
  public:
    explicit Receivers(ReceiverOptions const& options) : options_(options), room_(base::kMiB) {
        for (std::size_t i = 0; i < options.connections; ++i) connect();
    }

    Json run(StopSign const& stop) {
        auto const begin_ns = base::thread_cpu_ns();
        for (std::size_t i = 0; i < options_.in_flight && !idle_.empty(); ++i) ask();
        while (!stop.shown()) {
            for (auto const& ready : poller_.wait(10'000'000)) read(ready.key);
        }
        return {{"responses", responses_},
                {"cpu_ns", base::thread_cpu_ns() - begin_ns},
                {"in_memory", in_memory_},
                {"sum", sum_}};
    }

  private:
    struct Connection {
        base::FileDescriptor socket;
        std::size_t awaited_bytes = 0;
        transport::Mapping memory = {};
        std::uint64_t answers = 0; // in this memory
        bool has_head = false;     // of the response that is being read
    };

    // Connects one after the other: a burst of thousands would overflow the queue of the listener.
    void connect() {
        auto socket = transport::begin_connect(options_.server);
        transport::Poller connecting;
        connecting.add(socket.get(), 0, false, true);
        while (connecting.wait(1'000'000'000).empty()) {
        }
        if (int const error = transport::connect_error(socket)) base::fail_system({"cannot connect"}, error);
        connecting.remove(socket.get());
        poller_.add(socket.get(), connections_.size());
        connections_.push_back({std::move(socket), options_.welcome_bytes});
        send(connections_.back(), options_.greeting);
        while (connections_.back().awaited_bytes != 0) read_some(connections_.back());
        if (options_.memory_bytes > 0) share(connections_.back());
        idle_.push_back(connections_.size() - 1);
    }

    void share(Connection& connection) {
        struct {
            readout::MessageHead head{.type = readout::MessageType::share, .length_bytes = sizeof(readout::Share)};
            readout::Share share;
        } asked;
        asked.share.bytes = options_.memory_bytes;
        auto const bytes = std::as_bytes(std::span(&asked, 1));
        send(connection, {bytes.begin(), bytes.end()});
        base::FileDescriptor file;
        transport::wait_for(connection.socket, false, base::kMsNs * 1000);
        auto const moved = transport::receive_with_file(connection.socket, room_, file);
        readout::Shared shared;
        std::memcpy(&shared, room_.data() + sizeof asked.head, sizeof shared);
        if (moved.bytes != sizeof asked || !file) base::fail_system({"the server gives no memory"});
        connection.memory = transport::map_sealed(file, shared.bytes);
    }

    void send(Connection& connection, std::vector<std::byte> const& bytes) {
        if (bytes.empty()) return;
        auto const moved = transport::send_some(connection.socket, bytes);
        if (moved.bytes != bytes.size()) base::fail_system({"the server takes no request"}, moved.error);
    }

    void ask() {
        auto& connection = connections_[idle_.front()];
        idle_.pop_front();
        connection.awaited_bytes = options_.response_bytes;
        std::vector<std::byte> messages; // the release comes first, so that there is room for the answer
        if (connection.answers > 0) append_release(connection, messages);
        auto const request = options_.request(asked_++);
        messages.insert(messages.end(), request.begin(), request.end());
        send(connection, messages);
    }

    static void append_release(Connection const& connection, std::vector<std::byte>& out) {
        struct {
            readout::MessageHead head{.type = readout::MessageType::release, .length_bytes = sizeof(readout::Release)};
            readout::Release release;
        } message;
        message.release.answers = connection.answers;
        auto const bytes = std::as_bytes(std::span(&message, 1));
        out.insert(out.end(), bytes.begin(), bytes.end());
    }

    // Returns whether the response lies in memory: then it has been read there.
    bool read_in_memory(Connection& connection, std::size_t bytes) {
        readout::MessageHead head;
        readout::InMemory place;
        if (bytes != sizeof head + sizeof place) return false;
        std::memcpy(&head, room_.data(), sizeof head);
        if (head.type != readout::MessageType::in_memory) return false;
        std::memcpy(&place, room_.data() + sizeof head, sizeof place);
        for (std::size_t at = 0; at + 8 <= place.bytes; at += 64) {
            std::uint64_t word;
            std::memcpy(&word, connection.memory.data() + place.offset + at, sizeof word);
            sum_ += word;
        }
        ++connection.answers, ++in_memory_;
        connection.awaited_bytes = 0;
        return true;
    }

    void read(std::size_t index) {
        auto& connection = connections_[index];
        read_some(connection);
        if (connection.awaited_bytes != 0) return;
        ++responses_;
        idle_.push_back(index);
        ask();
    }

    void read_some(Connection& connection) {
        auto const moved = transport::receive_some(connection.socket, room_);
        if (moved.closed) base::fail_system({"the server closed a connection"}, moved.error);
        if (options_.memory_bytes > 0 && !connection.has_head && read_in_memory(connection, moved.bytes)) return;
        connection.has_head = moved.bytes > 0 && moved.bytes < connection.awaited_bytes;
        if (moved.bytes > connection.awaited_bytes) base::fail_data({"a response is longer than it should be"});
        connection.awaited_bytes -= moved.bytes;
    }

    ReceiverOptions const& options_;
    transport::Poller poller_;
    std::vector<Connection> connections_;
    std::deque<std::size_t> idle_;
    std::vector<std::byte> room_;
    std::size_t asked_ = 0, responses_ = 0, in_memory_ = 0;
    std::uint64_t sum_ = 0;
};

} // namespace

Json receive_and_drop(ReceiverOptions const& options, StopSign const& stop) { return Receivers(options).run(stop); }

} // namespace thalweg::study
