// Metrics, health and control over HTTP, for Prometheus, Kubernetes and curl. One thread; requests are short and few.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/monitor/exchanges.h"
#include "thalweg/monitor/pages.h"

namespace thalweg::monitor {

// With neither address nor path it would listen nowhere, and that is refused.
struct HttpOptions {
    std::string address = {};                                    // of TCP: "127.0.0.1:7780"; empty: none
    std::vector<std::string> allow = {"127.0.0.0/8", "::1/128"}; // the networks that TCP lets in
    std::vector<std::string> host_names = {}; // by which clients call this machine, besides those of HostNames
    std::string token = {};                   // for control over TCP; empty: nobody has it
    std::string socket_path = {};             // a Unix socket: who may open it may control; empty: none
    HttpLimits limits = {};
};

class HttpServer {
  public:
    // Listens at once; throws base::SystemError where an address cannot be had. Connections end after one answer or at
    // a limit.
    HttpServer(HttpOptions const& options, Pages pages);
    ~HttpServer();

    std::string const& address() const; // with the port that was chosen; empty: no TCP
    std::string url() const;            // "http://" and the address

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace thalweg::monitor
