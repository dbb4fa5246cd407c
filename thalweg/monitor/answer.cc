#include "thalweg/monitor/answer.h"

#include <algorithm>
#include <exception>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/monitor/prometheus.h"

namespace thalweg::monitor {
namespace {

constexpr std::string_view kControl = "/control/";
constexpr std::size_t kMaxVerbBytes = 32;

bool is_page(std::string const& path, HttpPages const& pages) {
    return (path == "/metrics" && pages.metrics) || (path == "/healthz" && pages.unhealthy) ||
           (path == "/readyz" && pages.not_ready);
}

bool is_control(std::string const& path, HttpPages const& pages) { return path.starts_with(kControl) && pages.control; }

HttpAnswer health(std::string const& trouble) {
    return trouble.empty() ? HttpAnswer{200, "ok\n"} : HttpAnswer{503, trouble + "\n"};
}

HttpAnswer not_found(HttpRequest const& request, HttpPages const& pages) {
    std::string text = "there is no " + request.path + "; there is /metrics, /healthz, /readyz";
    if (pages.control) text += ", and POST /control/VERB";
    return {404, text + "\n"};
}

std::optional<HttpAnswer> refusal_of_host(HttpRequest const& request, Access const& access) {
    if (request.is_local || (request.hosts.empty() && request.has_old_version)) return std::nullopt;
    if (request.hosts.size() != 1) return HttpAnswer{400, "a request has one Host\n"};
    if (access.host_names.contain(request.hosts[0])) return std::nullopt;
    return HttpAnswer{421,
                      "the Host of this request is no name of this machine (a page of the Web may have had it point "
                      "here): ask by an address, or add the name to host_names of [server]\n"};
}

std::optional<HttpAnswer> refusal_of_control(HttpRequest const& request, Access const& access) {
    if (request.method != "POST") return HttpAnswer{405, "POST is for this page\n", {{"Allow", "POST"}}};
    // A web page in a browser must not be able to stop a run.
    if (request.is_of_web_page) return HttpAnswer{403, "web pages may not control this\n"};
    if (request.is_local) return std::nullopt;
    if (access.token.empty())
        return HttpAnswer{403, "control needs a token, and the configuration has none: add token_file to [server], or "
                               "control_socket to [[handler]] and ask there\n"};
    if (request.authorization.size() == 1 && is_bearer_of(access.token, request.authorization[0])) return std::nullopt;
    return HttpAnswer{401,
                      request.authorization.empty()
                          ? "control needs the token of this readout: send the header Authorization: Bearer TOKEN\n"
                          : "what was sent is not the token of this readout: send Authorization: Bearer TOKEN once\n",
                      {{"WWW-Authenticate", "Bearer realm=\"thalweg\""}}};
}

bool is_verb(std::string_view text) {
    return !text.empty() && text.size() <= kMaxVerbBytes &&
           std::ranges::all_of(text, [](char c) { return c >= 'a' && c <= 'z'; });
}

// A verb comes with a word or a number, so ASCII is enough. It is also valid UTF-8.
bool is_text(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return (c >= ' ' && c < 0x7f) || c == '\r' || c == '\n'; });
}

HttpAnswer control(HttpRequest const& request, HttpPages const& pages) {
    auto const verb = request.path.substr(kControl.size());
    if (!is_verb(verb)) return {404, "a verb is a word of a to z, such as /control/start\n"};
    if (!is_text(request.body)) return {400, "what was sent with the request is no text (it is to be ASCII)\n"};
    return pages.control(verb, request.body);
}

HttpAnswer page(HttpRequest const& request, HttpPages const& pages) {
    if (request.path == "/metrics") return {200, prometheus_text(pages.metrics())};
    return health(request.path == "/healthz" ? pages.unhealthy() : pages.not_ready());
}

} // namespace

std::optional<HttpAnswer> refusal_of(HttpRequest const& request, HttpPages const& pages, Access const& access) {
    if (auto refused = refusal_of_host(request, access)) return refused;
    if (is_control(request.path, pages)) return refusal_of_control(request, access);
    if (!is_page(request.path, pages)) return not_found(request, pages);
    if (request.method == "GET" || request.method == "HEAD") return std::nullopt;
    return HttpAnswer{405, "GET is for this page\n", {{"Allow", "GET, HEAD"}}};
}

HttpAnswer answer_to(HttpRequest const& request, HttpPages const& pages) try {
    return is_control(request.path, pages) ? control(request, pages) : page(request, pages);
} catch (base::Error const& error) {
    return {500, std::string(error.what()) + "\n"};
} catch (std::exception const& error) {
    // The text of the error was not written for clients: it may be long, and contain what they should not know.
    fmt::print(stderr, "thalweg: {} of the monitor failed (please report this): {}\n", request.path, error.what());
    return {500, "an error inside Thalweg (please report it): what this program prints has more\n"};
}

bool may_take_long(HttpRequest const& request, HttpPages const& pages) { return is_control(request.path, pages); }

HttpAnswer too_many() { return {503, "too many requests for control wait: ask again later\n"}; }

HttpAnswer too_large() {
    return {413, fmt::format("a request has at most {} bytes after its headers\n", kMaxBodyBytes)};
}

} // namespace thalweg::monitor
