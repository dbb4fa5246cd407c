// The pages and commands of the monitor.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/trace/sample.h"

namespace thalweg::monitor {

struct HttpAnswer {
    int status = 200;
    std::string text;
    std::vector<std::pair<std::string, std::string>> headers = {}; // besides those that every answer has
};

// The functions that make the pages. A page without a function does not exist. The server's thread calls them, and
// another thread calls `control`, which may take long; an exception becomes an answer 500.
struct HttpPages {
    std::function<std::vector<trace::Sample>()> metrics; // GET /metrics
    std::function<std::string()> unhealthy;              // GET /healthz: why it is unhealthy; empty: it is healthy
    std::function<std::string()> not_ready;              // GET /readyz
    // POST /control/VERB; the verb has letters a to z, and the body is UTF-8 text.
    std::function<HttpAnswer(std::string const& verb, std::string const& body)> control;
};

} // namespace thalweg::monitor
