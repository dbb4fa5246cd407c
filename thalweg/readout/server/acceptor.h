// Accepts clients: the first thread of a server has the only listener and deals connections out to all threads in turn.
// With SO_REUSEPORT the kernel would deal them out by hash, which is uneven for few connections, and their total could
// not be limited.
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
    // Runs in the first of `threads`. Returns how long this thread may sleep.
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
    std::uint64_t resume_ns_ = 0; // it does not listen until then
    std::uint64_t batch_end_ns_ = 0;
    int batch_ = 0; // connections dealt out since the batch began
    bool listens_ = false;
};

} // namespace thalweg::readout
