// Lets clients in: one listener, in the first thread of a server, which deals connections out to all in turn. With
// SO_REUSEPORT the kernel would deal them out by hash: unevenly, where there are few, and nobody could count them all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/readout/server/server_thread.h"
#include "thalweg/transport/address.h"
#include "thalweg/transport/tcp.h"

namespace thalweg::readout {

class Acceptor {
  public:
    Acceptor(ServerConfig const& config, std::string name);

    std::string const& address() const { return address_; }
    // In the first of `threads`. Returns how long it may sleep.
    std::uint64_t turn(std::vector<std::unique_ptr<ServerThread>> const& threads);

  private:
    void refuse(transport::Accepted const& accepted, Problem const& problem, ServerCounters& counters);
    void pause(ServerThread& own, std::uint64_t until_ns);

    std::string name_;
    transport::SocketOptions options_;
    transport::Networks allowed_;
    transport::Listener listener_;
    std::string address_;
    std::size_t next_thread_ = 0;
    std::uint64_t resume_ns_ = 0; // until then it does not listen
    std::uint64_t batch_end_ns_ = 0;
    int batch_ = 0; // connections that were dealt out since the batch began
    bool listens_ = false;
};

} // namespace thalweg::readout
