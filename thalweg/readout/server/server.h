// Answers requests for events over TCP: thousands of connections, a few threads, each with its own poller.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "thalweg/readout/config.h"
#include "thalweg/readout/server/index.h"
#include "thalweg/trace/sample.h"

namespace thalweg::readout {

enum class State : std::uint32_t { initial, configured, running, paused, stopped };
char const* name_of(State state);

class Server {
  public:
    // Listens at once. Throws base::SystemError where the address is in use or cannot be had, base::UsageError where it
    // is none. Its threads pin rings as 0, 1, ...; each calls `at_start` with its number first.
    Server(ServerConfig const& config, std::uint64_t instance, std::string const& handler_name,
           std::function<void(std::uint32_t thread)> const& at_start = {});
    ~Server();

    // "127.0.0.1:7700", with the port that was chosen where 0 was asked for.
    std::string const& address() const;

    // Serves a run from `index`, which must live until the next begin_run(), forget_run() or stop() has returned.
    // Requests of other runs are refused from now on, pending ones, too. `continues`: events go on in the numbers of
    // whoever read the buffer before.
    void begin_run(std::uint32_t run, Index& index, std::uint32_t groups, std::uint32_t max_fragment_bytes,
                   bool continues = false);
    void set_state(State state);
    // Nothing more will be closed: pending requests are answered, and takers are told that the run has ended when they
    // have everything.
    void end_run();
    // True when collectors have cleared everything; false when `timeout_ns` has gone by before.
    // Until it returns, who takes is not told that the run has ended while others hold ranges that may come back.
    bool wait_until_cleared(std::uint64_t timeout_ns);
    // No run is served any more, and its index is not touched again.
    void forget_run();
    // Joins its threads.
    void stop();

    // Requests, events, fragments, bytes, refusals, connections, pending, latencies (a histogram), evicted answers.
    std::vector<trace::Sample> samples() const;
    // CPU time of the threads that serve, and what they sent.
    std::uint64_t cpu_ns() const;
    std::uint64_t fragments_sent() const;
    std::uint64_t bytes_sent() const;

  private:
    struct Shared;
    std::unique_ptr<Shared> shared_;
};

} // namespace thalweg::readout
