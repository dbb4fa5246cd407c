#include "thalweg/monitor/http_answer.h"

#include <exception>
#include <fmt/format.h>

namespace thalweg::monitor {
namespace {

constexpr std::string_view kControl = "/control/";

char const* reason_of(int status) {
    switch (status) {
    case 200:
        return "OK";
    case 400:
        return "Bad Request";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 409:
        return "Conflict";
    case 413:
        return "Content Too Large";
    case 500:
        return "Internal Server Error";
    case 503:
        return "Service Unavailable";
    default:
        return "Unknown";
    }
}

std::string written(Answer const& answer, std::string_view more_headers = "") {
    return fmt::format("HTTP/1.1 {} {}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                       "Content-Length: {}\r\nCache-Control: no-store\r\n{}Connection: close\r\n\r\n{}",
                       answer.status, reason_of(answer.status), answer.text.size(), more_headers, answer.text);
}

Answer health(std::string const& trouble) {
    return trouble.empty() ? Answer{200, "ok\n"} : Answer{503, trouble + "\n"};
}

// The page at `path`, or an empty function.
std::function<Answer()> page_at(std::string_view path, Pages const& pages) {
    if (path == "/metrics" && pages.metrics) return [&] { return Answer{200, prometheus_text(pages.metrics())}; };
    if (path == "/healthz" && pages.unhealthy) return [&] { return health(pages.unhealthy()); };
    if (path == "/readyz" && pages.not_ready) return [&] { return health(pages.not_ready()); };
    return {};
}

std::string not_found(Request const& request, Pages const& pages) {
    std::string text = "there is no " + request.path + "; there is /metrics, /healthz, /readyz";
    if (pages.control) text += ", and POST /control/VERB";
    return written({404, text + "\n"});
}

std::string control(Request const& request, Pages const& pages) {
    if (request.method != "POST") return written({405, "POST is for this page\n"}, "Allow: POST\r\n");
    // A page that somebody's browser shows must not be able to stop a run.
    if (request.from_web_page) return written({403, "web pages may not control this\n"});
    return written(pages.control(request.path.substr(kControl.size()), request.body));
}

std::string route(Request const& request, Pages const& pages) {
    if (request.path.starts_with(kControl) && pages.control) return control(request, pages);
    auto const page = page_at(request.path, pages);
    if (!page) return not_found(request, pages);
    if (request.method != "GET") return written({405, "GET is for this page\n"}, "Allow: GET\r\n");
    return written(page());
}

} // namespace

std::string http_answer(Parsed const& parsed, Pages const& pages) try {
    return parsed.request ? route(*parsed.request, pages) : written({parsed.status, parsed.why + "\n"});
} catch (std::exception const& error) {
    return written({500, std::string(error.what()) + "\n"});
}

} // namespace thalweg::monitor
