// What the monitor has to show, and what may be asked of it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/trace/sample.h"

namespace thalweg::monitor {

struct Answer {
    int status = 200;
    std::string text;
    std::vector<std::pair<std::string, std::string>> headers = {}; // besides those that every answer has
};

// A page without its function is not there. All are called by the thread of the server; what they throw becomes an
// answer 500.
struct Pages {
    std::function<std::vector<trace::Sample>()> metrics; // GET /metrics
    std::function<std::string()> unhealthy;              // GET /healthz: why not; empty: all is well
    std::function<std::string()> not_ready;              // GET /readyz
    // POST /control/VERB; the verb is of a to z, and the body is text in UTF-8.
    std::function<Answer(std::string const& verb, std::string const& body)> control;
};

} // namespace thalweg::monitor
