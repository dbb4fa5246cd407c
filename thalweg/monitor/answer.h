// What a request gets, from its head and its body: nothing here knows how they came.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/monitor/access.h"
#include "thalweg/monitor/pages.h"

namespace thalweg::monitor {

inline constexpr std::size_t kMaxBodyBytes = 4096;

struct Request {
    std::string method;                     // "GET"
    std::string path;                       // "/metrics", as it was sent; what follows a question mark is left out
    bool has_old_version = false;           // HTTP/1.0 and before: a Host need not be there
    std::vector<std::string> hosts;         // what all headers of that name say
    std::vector<std::string> authorization; // the same
    bool is_of_web_page = false;            // a browser sent it on behalf of a page: it has an Origin
    bool is_local = false;                  // it came over the Unix socket, which only its owner can open
    std::string body;
};

struct Access {
    HostNames host_names;
    std::string token; // for control over TCP; empty: nobody has it
};

// Why it gets no page; decided before its body is read.
std::optional<Answer> refusal_of(Request const& request, Pages const& pages, Access const& access);

// Of a request that was not refused, with its body.
Answer answer_to(Request const& request, Pages const& pages);

// Of requests that are longer than they may be.
Answer too_large();

} // namespace thalweg::monitor
