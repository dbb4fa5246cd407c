// Serves metrics, health and control over HTTP to Prometheus, Kubernetes and curl. One thread serves all pages, because
// requests are short and few. Requests for control may take long: another thread does them, one after the other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/monitor/exchanges.h"
#include "thalweg/monitor/pages.h"

namespace thalweg::monitor {

// The options of a server. With neither address nor path it would listen nowhere, which is refused.
struct HttpOptions {
    std::string address = {};                                    // of TCP: "127.0.0.1:7780"; empty: none
    std::vector<std::string> allow = {"127.0.0.0/8", "::1/128"}; // networks that may connect over TCP
    std::vector<std::string> host_names = {}; // names of this machine that clients may use, besides those of HostNames
    std::string token = {};                   // for control over TCP; empty: no control over TCP
    std::string socket_path = {};             // a Unix socket: a process that can open it may control; empty: none
    HttpLimits limits = {};
};

class HttpServer {
  public:
    // Listens at once. Throws base::SystemError if an address is not available. Connections end after one answer or at
    // a limit.
    HttpServer(HttpOptions const& options, HttpPages pages);
    ~HttpServer();

    // Ends all connections, after the request for control that is being done.
    void stop();

    std::string const& address() const; // with the port that the kernel chose; empty: no TCP
    std::string url() const;            // "http://" and the address

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace thalweg::monitor
