// Computes the answer to a request from its head and body, however they were received.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/monitor/access.h"
#include "thalweg/monitor/pages.h"

namespace thalweg::monitor {

inline constexpr std::size_t kMaxBodyBytes = 4096;

struct HttpRequest {
    std::string method;                     // "GET"
    std::string path;                       // "/metrics", as it was sent; without what follows a question mark
    bool has_old_version = false;           // HTTP/1.0 or older: Host is optional
    std::vector<std::string> hosts;         // the values of all Host headers
    std::vector<std::string> authorization; // the values of all Authorization headers
    bool is_of_web_page = false;            // a browser sent it for a web page: it has an Origin
    bool is_local = false;                  // it came over the Unix socket, which only its owner can open
    std::string body;
};

struct Access {
    HostNames host_names;
    std::string token; // for control over TCP; empty: no control over TCP
};

// Returns why a request is refused, or nothing. This is decided before its body is read.
std::optional<HttpAnswer> refusal_of(HttpRequest const& request, HttpPages const& pages, Access const& access);

// Returns the answer to a request that was not refused, with its body.
HttpAnswer answer_to(HttpRequest const& request, HttpPages const& pages);

// Returns whether the answer may take long: a run that is stopped waits for collectors.
bool may_take_long(HttpRequest const& request, HttpPages const& pages);

// Returns the answer to a request that is too long.
HttpAnswer too_large();

// Returns the answer to a request that would have to wait for too many others.
HttpAnswer too_many();

} // namespace thalweg::monitor
