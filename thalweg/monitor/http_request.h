// The one form of request that the monitor understands: a line, headers, and a body whose length is said before.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace thalweg::monitor {

struct Request {
    std::string method; // "GET"
    std::string path;   // "/metrics"; what follows a question mark is left out
    std::string body;
    bool from_web_page = false; // a browser sent it on behalf of a page (it has an Origin)
};

// A request; or, without one, why there will never be one, or status 0: more bytes are needed.
struct Parsed {
    std::optional<Request> request = {};
    int status = 0; // of HTTP
    std::string why = {};
};

// Of all that came so far. Once it has decided, more bytes do not change the decision.
Parsed parse_request(std::string_view bytes, std::size_t limit_bytes);

} // namespace thalweg::monitor
