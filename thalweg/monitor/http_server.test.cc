#include "thalweg/monitor/http_server.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <gtest/gtest.h>
#include <list>
#include <memory>
#include <random>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/monitor/test_client.h"

namespace thalweg::monitor {
namespace {

HttpPages pages_that_conflict() {
    return {
        .metrics = [] { return std::vector<trace::Sample>{{.name = "answer", .help = "", .value = 42}}; },
        .unhealthy = [] { return std::string(); },
        .not_ready = [] { return std::string("no run yet"); },
        .control = [](std::string const& verb, std::string const& body) -> HttpAnswer {
            return {409, verb + " already: " + body + "\n"};
        },
    };
}

TEST(HttpServer, AnswersWhatIsAsked) {
    HttpServer const server(at_any_port(), pages_that_conflict());
    EXPECT_EQ(server.url(), "http://" + server.address());
    auto const metrics = get(server, "/metrics?x=1");
    EXPECT_TRUE(metrics.starts_with("HTTP/1.1 200 OK\r\n")) << metrics;
    EXPECT_TRUE(has(metrics, "Content-Type: text/plain; version=0.0.4"));
    EXPECT_TRUE(has(metrics, "Content-Length: 32\r\n"));
    EXPECT_TRUE(metrics.ends_with("\r\n\r\n# TYPE answer counter\nanswer 42\n")) << metrics;
    EXPECT_TRUE(has(get(server, "/healthz"), "200 OK"));
    EXPECT_TRUE(has(get(server, "/readyz"), "503 Service Unavailable"));
    EXPECT_TRUE(has(get(server, "/readyz"), "\r\n\r\nno run yet\n"));
    EXPECT_TRUE(has(get(server, "/"), "404 Not Found"));
    EXPECT_TRUE(has(get(server, "/x"), "there is /metrics, /healthz, /readyz, and POST /control/VERB"));
    EXPECT_TRUE(has(ask(server, "DELETE /metrics HTTP/1.1\r\nHost: [::1]\r\n\r\n"), "Allow: GET, HEAD\r\n"));
    auto const head = ask(server, "HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_TRUE(has(head, "Content-Length: 32\r\n") && head.ends_with("\r\n\r\n")) << head;
    EXPECT_TRUE(has(ask(server, "GET /healthz HTTP/1.0\r\n\r\n"), "200 OK"));
}

TEST(HttpServer, IsControlledWithTheToken) {
    HttpServer const server(at_any_port("sesame"), pages_that_conflict());
    std::string const start = "POST /control/start HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n";
    std::string const token = "authorization: bearer sesame\r\n";
    auto const conflict = ask(server, start + token + "\r\nseven");
    EXPECT_TRUE(conflict.starts_with("HTTP/1.1 409 Conflict\r\n")) << conflict;
    EXPECT_TRUE(conflict.ends_with("start already: sev\n")) << conflict;
    EXPECT_TRUE(has(ask(server, start + token + "Origin: http://elsewhere\r\n\r\nsev"), "403 Forbidden"));
    auto const chunked = "POST /control/start HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n" + token +
                         "\r\n3\r\nsev\r\n2\r\nen\r\n0\r\n\r\n";
    EXPECT_TRUE(has(ask(server, chunked), "start already: seven\n"));
    HttpServer const plain(at_any_port(), {});
    EXPECT_TRUE(has(ask(plain, start + "\r\nsev"), "404 Not Found")) << "nothing to control";
    EXPECT_TRUE(has(get(plain, "/metrics"), "404 Not Found"));
}

TEST(HttpServer, SpeaksIpv6) {
    auto options = at_any_port();
    options.address = "[::1]:0";
    std::optional<HttpServer> server;
    try {
        server.emplace(options, pages_that_conflict());
    } catch (base::SystemError const& error) {
        GTEST_SKIP() << "this machine has no IPv6: " << error.what();
    }
    EXPECT_TRUE(has(get(*server, "/metrics"), "answer 42"));
}

TEST(HttpServer, APortInUseIsSaid) {
    HttpServer const server(at_any_port(), {});
    EXPECT_THROW(HttpServer({.address = server.address()}, {}), base::SystemError);
    EXPECT_THROW(HttpServer({.address = "nonsense"}, {}), base::UsageError);
    EXPECT_THROW(HttpServer({}, {}), base::UsageError);
    EXPECT_THROW(HttpServer({.address = "127.0.0.1:0", .allow = {"no network"}}, {}), base::UsageError);
}

TEST(HttpServer, TakesRequestsByTheByteAndFromWhoSendsNoMore) {
    HttpServer const server(at_any_port(), pages_that_conflict());
    HttpTestClient const slow(server);
    ASSERT_TRUE(slow.connect());
    for (char const c : std::string_view("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")) {
        ASSERT_TRUE(slow.send({&c, 1}));
    }
    slow.send_no_more();
    EXPECT_TRUE(has(slow.rest(), "200 OK"));
}

TEST(HttpServer, WithoutDescriptorsClientsWaitAndNothingSpins) {
    HttpServer const server(at_any_port(), pages_that_conflict());
    HttpTestClient const client(server);
    auto const cpu_ms = [] {
        rusage usage{};
        ::getrusage(RUSAGE_SELF, &usage);
        return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
               (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
    };
    rlimit usual{};
    ::getrlimit(RLIMIT_NOFILE, &usual);
    rlimit const none_left{0, usual.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none_left);
    auto const before_ms = cpu_ms();
    bool const sent = client.connect() && client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    auto const used_ms = cpu_ms() - before_ms;
    ::setrlimit(RLIMIT_NOFILE, &usual);
    EXPECT_TRUE(sent);
    EXPECT_LT(used_ms, 100);
    EXPECT_TRUE(has(client.rest(), "answer 42"));
}

TEST(HttpServer, WhatTookLongerThanAConnectionMayIsStillAnswered) {
    auto pages = pages_that_conflict();
    pages.control = [](auto const&, auto const&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(600)); // a run that is stopped waits for collectors
        return HttpAnswer{200, "it is stopped\n"};
    };
    auto options = at_any_port("sesame");
    options.limits.connection_ns = 300 * base::kMsNs;
    HttpServer const server(options, pages);
    EXPECT_TRUE(has(ask(server, "POST /control/stop HTTP/1.1\r\nHost: localhost\r\n"
                                "Authorization: Bearer sesame\r\nContent-Length: 0\r\n\r\n"),
                    "it is stopped\n"));
}

std::string control_of(std::string const& verb) {
    return "POST /control/" + verb +
           " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sesame\r\nContent-Length: 0\r\n\r\n";
}

TEST(HttpServer, PagesDoNotWaitForControl) {
    auto pages = pages_that_conflict();
    std::promise<void> drained;
    pages.control = [end = drained.get_future().share()](auto const& verb, auto const&) {
        if (verb == "stop") end.wait();
        return HttpAnswer{200, verb + " done\n"};
    };
    HttpServer const server(at_any_port("sesame"), pages);
    HttpTestClient const stop(server), pause(server);
    ASSERT_TRUE(stop.connect() && stop.send(control_of("stop")));
    ASSERT_TRUE(pause.connect() && pause.send(control_of("pause")));
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(has(get(server, "/metrics"), "answer 42"));
    EXPECT_TRUE(has(get(server, "/healthz"), "200 OK"));
    drained.set_value();
    EXPECT_TRUE(has(stop.rest(), "stop done\n"));
    EXPECT_TRUE(has(pause.rest(), "pause done\n"));
}

TEST(HttpServer, SomeRequestsForControlWaitAndMoreAreRefused) {
    auto pages = pages_that_conflict();
    std::promise<void> drained;
    std::atomic<int> done = 0;
    pages.control = [&, end = drained.get_future().share()](auto const&, auto const&) {
        end.wait();
        return HttpAnswer{200, std::to_string(++done) + " done\n"};
    };
    HttpServer const server(at_any_port("sesame"), pages);
    std::list<HttpTestClient> clients;
    for (int i = 0; i < 20; ++i) {
        auto const& client = clients.emplace_back(server);
        ASSERT_TRUE(client.connect() && client.send(control_of("pause")));
    }
    // One of them runs and eight wait. The server need not take them in the order in which they were sent.
    auto const is_answered = [](auto const& client) { return client.is_answered(); };
    auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::ranges::count_if(clients, is_answered) < 11) ASSERT_LT(std::chrono::steady_clock::now(), end);
    for (auto const& client : clients) {
        if (client.is_answered()) EXPECT_TRUE(has(client.rest(), "503 Service Unavailable"));
    }
    auto const waiting = std::ranges::find_if_not(clients, &HttpTestClient::is_answered);
    ASSERT_NE(waiting, clients.end());
    clients.erase(waiting); // it went away while its request waited
    drained.set_value();
    int answered = 0;
    for (auto const& client : clients) answered += has(client.rest(), " done\n");
    EXPECT_GE(answered, 7);
    EXPECT_LE(done, 9);
    EXPECT_TRUE(has(get(server, "/metrics"), "answer 42"));
}

TEST(HttpServer, EndsWithRequestsForControlThatWait) {
    auto pages = pages_that_conflict();
    std::promise<void> drained;
    std::atomic<int> begun = 0;
    pages.control = [&, end = drained.get_future().share()](auto const&, auto const&) {
        ++begun;
        begun.notify_all();
        end.wait();
        return HttpAnswer{200, "done\n"};
    };
    std::deque<HttpTestClient> clients;
    {
        auto server = std::make_unique<HttpServer>(at_any_port("sesame"), pages);
        for (int i = 0; i < 3; ++i) {
            auto const& client = clients.emplace_back(*server);
            ASSERT_TRUE(client.connect() && client.send(control_of("stop")));
        }
        begun.wait(0);
        get(*server, "/metrics"); // the other two wait now
        std::jthread const ending([&] { server.reset(); });
        drained.set_value();
    }
    for (auto const& client : clients) EXPECT_NE(client.rest(), "timeout");
}

TEST(HttpServer, EndsAtOnceWhicheverClientsAreConnected) {
    auto const begin_ns = base::monotonic_ns();
    {
        HttpServer const server(at_any_port(), pages_that_conflict());
        HttpTestClient const client(server);
        ASSERT_TRUE(client.connect());
    }
    EXPECT_LT(base::monotonic_ns() - begin_ns, 20'000 * base::kMsNs);
}

TEST(HttpServer, WhoMayOpenTheSocketMayControl) {
    auto options = at_any_port("sesame");
    options.socket_path = testing::TempDir() + "thalweg-" + std::to_string(::getpid()) + "-control";
    ::unlink(options.socket_path.c_str());
    HttpPages const pages{.unhealthy = [] { return std::string(); },
                          .control =
                              [](auto const& verb, auto const&) {
                                  return HttpAnswer{200, verb + " it is\n"};
                              }};
    std::string const start = "POST /control/start HTTP/1.1\r\nHost: any.name\r\n\r\n";
    {
        HttpServer const server(options, pages);
        EXPECT_TRUE(has(asked(HttpTestClient(options.socket_path), start), "start it is"));
        EXPECT_TRUE(
            has(asked(HttpTestClient(options.socket_path), "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), "200 OK"));
        EXPECT_TRUE(has(ask(server, start), "421 ")) << "TCP is still guarded";
    }
    options.address = "";
    HttpServer const local_only(options, pages);
    EXPECT_EQ(local_only.address(), "");
    EXPECT_TRUE(has(asked(HttpTestClient(options.socket_path), start), "start it is"));
}

} // namespace
} // namespace thalweg::monitor
