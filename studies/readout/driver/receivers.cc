#include "studies/readout/driver/receivers.h"

#include <deque>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
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
        return {{"responses", responses_}, {"cpu_ns", base::thread_cpu_ns() - begin_ns}};
    }

  private:
    struct Connection {
        base::FileDescriptor socket;
        std::size_t awaited_bytes = 0;
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
        idle_.push_back(connections_.size() - 1);
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
        send(connection, options_.request(asked_++));
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
        if (moved.bytes > connection.awaited_bytes) base::fail_data({"a response is longer than it should be"});
        connection.awaited_bytes -= moved.bytes;
    }

    ReceiverOptions const& options_;
    transport::Poller poller_;
    std::vector<Connection> connections_;
    std::deque<std::size_t> idle_;
    std::vector<std::byte> room_;
    std::size_t asked_ = 0, responses_ = 0;
};

} // namespace

Json receive_and_drop(ReceiverOptions const& options, StopSign const& stop) { return Receivers(options).run(stop); }

} // namespace thalweg::study
