// What a request gets.
#pragma once

#include <string>

#include "thalweg/monitor/http_request.h"
#include "thalweg/monitor/http_server.h"

namespace thalweg::monitor {

// Ready to be sent, headers and all.
std::string http_answer(Parsed const& parsed, Pages const& pages);

} // namespace thalweg::monitor
