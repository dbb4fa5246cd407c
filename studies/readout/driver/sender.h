// A server with one thread that answers requests of a fixed size with responses of many pieces, in one of three ways.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "studies/readout/driver/pieces.h"
#include "thalweg/transport/poller.h"
#include "thalweg/transport/tcp.h"

namespace thalweg::study {

inline constexpr std::size_t kRequestBytes = 40; // the size of Thalweg's own: a head and a range

enum class Way : std::uint8_t {
    copy,   // into one buffer, which is written
    writev, // from where they lie, as many pieces per call as the kernel accepts
    ready,  // only write(), from one buffer that was filled long ago
};
Way parse_way(std::string const& name);

class Sender {
  public:
    Sender(Way way, Pieces& pieces);

    transport::Address const& address() const { return listener_.address; }

    struct Sent {
        double cpu_ns = 0;
        double seconds = 0;
        double responses = 0;
        double partial_writes = 0;
    };
    // Waits for so many connections, warms up, and then counts.
    Sent measure(std::size_t connections, std::uint64_t duration_ns);

  private:
    struct Connection {
        base::FileDescriptor socket;
        std::size_t requests = 0;
        std::vector<iovec> unsent;
        std::size_t first_unsent = 0;  // of these
        std::vector<std::byte> buffer; // of a copy
        bool waits = false;            // for room in the kernel
    };

    void run_until(std::uint64_t monotonic_ns);
    void accept_all();
    void take_requests(Connection& connection);
    void prepare(Connection& connection);
    bool send(Connection& connection); // returns whether everything was sent
    void go_on(std::size_t key);

    Way way_;
    Pieces& pieces_;
    transport::Listener listener_;
    transport::Poller poller_;
    std::vector<std::unique_ptr<Connection>> connections_;
    std::vector<std::vector<std::byte>> free_buffers_;
    std::vector<std::byte> ready_;
    std::uint64_t responses_ = 0, partial_writes_ = 0;
};

} // namespace thalweg::study
