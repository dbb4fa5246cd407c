// Answers requests for events over TCP: thousands of connections, a few threads, each with its own poller.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "thalweg/readout/config.h"
#include "thalweg/readout/protocol.h"
#include "thalweg/readout/server/index.h"
#include "thalweg/trace/sample.h"

namespace thalweg::readout {

char const* name_of(ReadoutState state);

class Server {
  public:
    // Listens at once. Throws base::SystemError if the address is in use or not available, base::UsageError if it is
    // not an address. Its threads pin rings as 0, 1, ...; each calls `at_start` with its number first.
    Server(ServerConfig const& config, std::uint64_t instance, std::string const& handler_name,
           std::function<void(std::uint32_t thread)> const& at_start = {});
    ~Server();

    // Returns the address, "127.0.0.1:7700", with the port that the kernel chose if the configuration has port 0.
    std::string const& address() const;

    // Serves a run from `index`, which must live until the next begin_run(), forget_run() or stop() has returned.
    // Requests for other runs are refused from now on, including pending ones. `continues`: event numbers continue
    // those of the previous reader of the buffer.
    void begin_run(std::uint32_t run, Index& index, std::uint32_t groups, std::uint32_t max_fragment_bytes,
                   bool continues = false);
    void set_state(ReadoutState state);
    // Says that no more events will be closed: pending requests are answered, and collectors learn that the run has
    // ended when they have everything.
    void end_run();
    // Returns true when collectors have cleared everything, and false after `timeout_ns` or when it is cut short. Until
    // it returns, a collector does not learn that the run has ended while others hold ranges that may come back.
    bool wait_until_cleared(std::uint64_t timeout_ns, std::stop_token const& cut_short = {});
    // Call it afterwards. Returns true when each collector that has asked for events, and is still connected, was told
    // that the run has ended, and false as above. A server that is gone before can tell it no more, and a
    // collector that was not told waits for its next run.
    bool wait_until_told(std::uint64_t timeout_ns, std::stop_token const& cut_short = {});
    // Serves no run any more, and does not use its index again.
    void forget_run();
    // Ends and joins its threads.
    void stop();

    // Returns requests, events, fragments, bytes, refusals, connections, pending requests, latencies (a histogram),
    // evicted answers.
    std::vector<trace::Sample> samples() const;
    // Return the CPU time of the serving threads, and what they sent.
    std::uint64_t cpu_ns() const;
    std::uint64_t fragments_sent() const;
    std::uint64_t bytes_sent() const;

  private:
    struct Shared;
    std::unique_ptr<Shared> shared_;
};

} // namespace thalweg::readout
