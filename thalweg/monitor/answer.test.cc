#include "thalweg/monitor/answer.h"

#include <gtest/gtest.h>
#include <map>
#include <stdexcept>

#include "thalweg/base/error.h"

namespace thalweg::monitor {
namespace {

HttpPages some_pages() {
    return {
        .metrics = [] { return std::vector<trace::Sample>{{.name = "answer", .help = "", .value = 42}}; },
        .unhealthy = [] { return std::string(); },
        .not_ready = [] { return std::string("no run yet"); },
        .control = [](std::string const& verb, std::string const& body) -> HttpAnswer {
            if (verb == "explode") throw std::runtime_error("Traceback: /home/user, token=sesame");
            if (verb == "fail") throw base::SystemError("the disk is full");
            return {200, verb + "(" + body + ")"};
        },
    };
}

HttpRequest get(std::string const& path) { return {.method = "GET", .path = path, .hosts = {"localhost"}}; }
HttpRequest post(std::string const& path, std::string const& body = "") {
    return {.method = "POST", .path = path, .hosts = {"localhost"}, .authorization = {"Bearer sesame"}, .body = body};
}
Access with_token(std::string const& token) { return {HostNames({}, ""), token}; }

int status_of(HttpRequest const& request, std::string const& token = "sesame") {
    auto const refused = refusal_of(request, some_pages(), with_token(token));
    return refused ? refused->status : answer_to(request, some_pages()).status;
}

TEST(HttpAnswer, PagesNeedNoToken) {
    EXPECT_EQ(answer_to(get("/metrics"), some_pages()).text, "# TYPE answer counter\nanswer 42\n");
    EXPECT_EQ(answer_to(get("/readyz"), some_pages()).text, "no run yet\n");
    for (auto const& [path, status] : std::map<std::string, int>{{"/metrics", 200},
                                                                 {"/healthz", 200},
                                                                 {"/readyz", 503},
                                                                 {"/", 404},
                                                                 {"/metricsx", 404},
                                                                 {"", 404},
                                                                 {"/control/", 405},
                                                                 {"/controlx", 404},
                                                                 {"/%6detrics", 404},
                                                                 {"//metrics", 404}}) {
        auto request = get(path);
        EXPECT_EQ(status_of(request), status) << path;
    }
    auto request = get("/metrics");
    request.method = "HEAD";
    EXPECT_EQ(status_of(request), 200);
    request.method = "POST";
    EXPECT_EQ(status_of(request), 405);
    EXPECT_EQ(refusal_of(get("/metrics"), {}, with_token(""))->status, 404) << "there is no such page";
}

TEST(HttpAnswer, ControlNeedsTheToken) {
    auto request = post("/control/start", "7");
    EXPECT_EQ(status_of(request), 200);
    EXPECT_EQ(status_of(request, ""), 403) << "without a token no client may control";
    EXPECT_EQ(status_of(request, "other"), 401);
    for (std::vector<std::string> const& wrong : {std::vector<std::string>{},
                                                  {""},
                                                  {"Bearer"},
                                                  {"Bearer sesam"},
                                                  {"Basic sesame"},
                                                  {"Bearer sesame", "Bearer x"}}) {
        request.authorization = wrong;
        auto const refused = refusal_of(request, some_pages(), with_token("sesame"));
        ASSERT_TRUE(refused);
        EXPECT_EQ(refused->status, 401);
        EXPECT_EQ(refused->headers[0].first, "WWW-Authenticate");
        EXPECT_EQ(refused->text.starts_with("what was sent is not the token"), !wrong.empty());
        EXPECT_EQ(refused->text.find("sesame"), std::string::npos);
    }
    request.is_local = true;
    EXPECT_EQ(status_of(request), 200) << "a client that may open the Unix socket needs none";
    EXPECT_EQ(status_of(request, ""), 200);
    request.is_of_web_page = true;
    EXPECT_EQ(status_of(request), 403);
    EXPECT_EQ(status_of(get("/control/start")), 405);
}

TEST(HttpAnswer, AForeignHostGetsNothing) {
    for (auto const* path : {"/metrics", "/healthz", "/nothing", "/control/start"}) {
        auto request = post(path);
        request.hosts = {"rebound.example:7780"};
        EXPECT_EQ(status_of(request), 421) << path;
        request.hosts = {"localhost", "rebound.example"};
        EXPECT_EQ(status_of(request), 400) << path;
        request.hosts = {};
        EXPECT_EQ(status_of(request), 400) << path;
        request.has_old_version = true;
        EXPECT_NE(status_of(request), 400) << path << ": no browser sends such";
        request.has_old_version = false;
        request.is_local = true;
        EXPECT_NE(status_of(request), 400) << path << ": no name leads to a file";
    }
}

TEST(HttpAnswer, OddVerbsAndBodiesReachNoHandler) {
    std::string const long_one(33, 'a');
    for (auto const& verb : {std::string(), std::string("Start"), std::string("st4rt"), std::string("start/"),
                             std::string("start "), std::string("__class__"), std::string("\xff"), long_one}) {
        EXPECT_EQ(status_of(post("/control/" + verb)), 404) << verb;
    }
    EXPECT_EQ(status_of(post("/control/start", "\xff\xfe")), 400);
    EXPECT_EQ(status_of(post("/control/start", std::string(1, '\0'))), 400);
    EXPECT_EQ(answer_to(post("/control/start", "7\r\n"), some_pages()).text, "start(7\r\n)");
}

TEST(HttpAnswer, WhatFailsIsToldWithoutItsInside) {
    auto const failed = answer_to(post("/control/fail"), some_pages());
    EXPECT_EQ(failed.status, 500);
    EXPECT_EQ(failed.text, "the disk is full\n");
    testing::internal::CaptureStderr();
    auto const exploded = answer_to(post("/control/explode"), some_pages());
    auto const printed = testing::internal::GetCapturedStderr();
    EXPECT_EQ(exploded.status, 500);
    EXPECT_EQ(exploded.text.find("sesame"), std::string::npos);
    EXPECT_NE(printed.find("/home/user"), std::string::npos);
}

} // namespace
} // namespace thalweg::monitor
