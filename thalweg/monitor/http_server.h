// Metrics and health over HTTP, for Prometheus, Kubernetes and curl. One thread; requests are short and few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/trace/sample.h"

namespace thalweg::monitor {

struct Answer {
    int status = 200;
    std::string text;
};

// A page without its function is not there.
struct Pages {
    std::function<std::vector<trace::Sample>()> metrics; // GET /metrics
    std::function<std::string()> unhealthy;              // GET /healthz: why not; empty: all is well
    std::function<std::string()> not_ready;              // GET /readyz
    std::function<Answer(std::string const& verb, std::string const& body)> control; // POST /control/VERB
};

struct HttpLimits {
    std::size_t request_bytes = 8192;
    std::uint64_t connection_ns = 5'000'000'000; // from the first to the last byte
    std::size_t connections = 64;                // one more, and the oldest is ended
};

class HttpServer {
  public:
    // Listens at once; throws base::SystemError where the address cannot be had. Connections end after one answer or at
    // a limit. Pages are made by the thread of the server; what they throw becomes an answer 500.
    HttpServer(std::string const& address, Pages pages, HttpLimits limits = {});
    ~HttpServer();

    std::string const& address() const; // with the port that was chosen
    std::string url() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// Prometheus' text format, version 0.0.4: families in the order in which they come, HELP and TYPE once each.
std::string prometheus_text(std::vector<trace::Sample> const& samples);

} // namespace thalweg::monitor
