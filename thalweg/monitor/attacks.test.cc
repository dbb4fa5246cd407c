// Tests attacks, and that other clients are served meanwhile.
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <thread>

#include "thalweg/base/clock.h"
#include "thalweg/base/units.h"
#include "thalweg/monitor/test_client.h"

namespace thalweg::monitor {
namespace {

constexpr int kSlow = 1000;

class Attack : public testing::Test {
  protected:
    HttpPages pages() {
        return {.metrics = [] { return std::vector<trace::Sample>{{.name = "answer", .help = "", .value = 42}}; },
                .unhealthy = [] { return std::string(); },
                .control =
                    [this](auto const&, auto const&) {
                        return HttpAnswer{200, std::to_string(++obeyed)};
                    }};
    }
    bool is_served(HttpServer const& server) { return has(get(server, "/metrics"), "answer 42"); }
    std::atomic<int> obeyed = 0;
};

std::uint64_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::uint64_t size = 0, resident = 0;
    file >> size >> resident;
    return resident * 4096;
}

void expect_no_more_memory_than(std::uint64_t before_bytes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    static_cast<void>(before_bytes); // sanitizers keep what was freed
#else
    EXPECT_LT(resident_bytes(), before_bytes + 8'000'000);
#endif
}

TEST_F(Attack, ControlWithoutTheTokenOrByAForeignName) {
    HttpServer const server(at_any_port("sesame"), pages());
    std::string const post = "POST /control/stop HTTP/1.1\r\n";
    std::string const token = "Authorization: Bearer sesame\r\n";
    EXPECT_TRUE(has(ask(server, post + "Host: localhost\r\n\r\n"), "401 Unauthorized"));
    EXPECT_TRUE(has(ask(server, post + "Host: localhost\r\nAuthorization: Bearer guess\r\n\r\n"), "401 Unauthorized"));
    EXPECT_TRUE(has(ask(server, post + "Host: localhost\r\nAuthorization: Bearer x\r\n" + token + "\r\n"), "401 "));
    EXPECT_TRUE(has(ask(server, post + "Host: rebound.example\r\n" + token + "\r\n"), "421 Misdirected Request"));
    EXPECT_TRUE(has(ask(server, post + "Host: localhost\r\nHost: rebound.example\r\n" + token + "\r\n"), "400 "));
    EXPECT_TRUE(has(ask(server, post + token + "\r\n"), "400 Bad Request"));
    EXPECT_TRUE(has(ask(server, "GET /metrics HTTP/1.1\r\nHost: rebound.example:7780\r\n\r\n"), "421 "));
    EXPECT_EQ(obeyed, 0);
    EXPECT_TRUE(has(ask(server, post + "Host: localhost\r\n" + token + "\r\n"), "200 OK"));
    EXPECT_EQ(obeyed, 1);
    HttpServer const without(at_any_port(), pages());
    EXPECT_TRUE(has(ask(without, post + "Host: localhost\r\nAuthorization: Bearer \r\n\r\n"), "403 Forbidden"));
    EXPECT_EQ(obeyed, 1);
}

TEST_F(Attack, FromANetworkThatIsNotAllowed) {
    auto options = at_any_port("sesame");
    options.allow = {"10.0.0.0/8"};
    HttpServer const server(options, pages());
    auto const post = "POST /control/stop HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sesame\r\n\r\n";
    for (auto const& answer : {get(server, "/metrics"), ask(server, post)}) {
        EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 403 Forbidden\r\n")) << answer;
        EXPECT_FALSE(has(answer, "answer 42"));
    }
    EXPECT_EQ(obeyed, 0);
}

TEST_F(Attack, OversizedRequests) {
    HttpServer const server(at_any_port("sesame"), pages());
    auto const head = "POST /control/stop HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sesame\r\n";
    EXPECT_TRUE(has(ask(server, "GET /" + std::string(40'000, 'a') + " HTTP/1.1\r\n\r\n"), "HTTP/1.1 4"));
    EXPECT_TRUE(has(ask(server, head + ("A: " + std::string(40'000, 'a')) + "\r\n\r\n"), "HTTP/1.1 4"));
    EXPECT_TRUE(has(ask(server, head + std::string("Content-Length: 4097\r\n\r\n") + std::string(4097, 'x')), "413 "));
    EXPECT_TRUE(has(ask(server, head + std::string("Content-Length: 99999999999999999999\r\n\r\nx")), "HTTP/1.1 4"));
    EXPECT_EQ(obeyed, 0);
    EXPECT_TRUE(
        has(ask(server, head + std::string("Content-Length: 4096\r\n\r\n") + std::string(4096, '7')), "200 OK"));
    EXPECT_TRUE(is_served(server));
}

// Sends until the server ends the connection, or for two seconds.
std::uint64_t sent_without_end(HttpTestClient const& client, std::string const& head, std::string const& piece) {
    auto const until_ns = base::monotonic_ns() + 2000 * base::kMsNs;
    std::uint64_t sent_bytes = 0;
    if (!client.connect() || !client.send(head)) return 0;
    while (base::monotonic_ns() < until_ns && client.send(piece)) sent_bytes += piece.size();
    return sent_bytes;
}

TEST_F(Attack, EndlessHeadersAndBodies) {
    HttpServer const server(at_any_port("sesame"), pages());
    auto const before_bytes = resident_bytes();
    std::string const head = "POST /control/stop HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sesame\r\n";
    std::string headers, chunk = "10000\r\n" + std::string(65'536, 'x') + "\r\n";
    for (int i = 0; i < 1000; ++i) headers += "X-" + std::to_string(i) + ": y\r\n";
    EXPECT_LT(sent_without_end(HttpTestClient(server), head, headers), 64'000'000u) << "it was cut off soon";
    sent_without_end(HttpTestClient(server), head, std::string(65'536, 'x'));
    sent_without_end(HttpTestClient(server), head + "Transfer-Encoding: chunked\r\n\r\n", chunk);
    EXPECT_TRUE(is_served(server));
    EXPECT_EQ(obeyed, 0);
    expect_no_more_memory_than(before_bytes);
}

TEST_F(Attack, AThousandSlowConnections) {
    HttpServer const server(at_any_port(), pages());
    auto const before_bytes = resident_bytes();
    std::vector<HttpTestClient> slow;
    auto const begin_ns = base::monotonic_ns();
    for (int i = 0; i < kSlow; ++i) {
        slow.emplace_back(server);
        ASSERT_TRUE(slow.back().connect());
        slow.back().send(i % 2 ? "GET /met" : "");
        if (i % 100 == 0) {
            EXPECT_TRUE(is_served(server)) << i;
        }
    }
    EXPECT_TRUE(is_served(server));
    EXPECT_LT(base::monotonic_ns() - begin_ns, 20'000 * base::kMsNs) << "it waited until their time was up";
    EXPECT_EQ(slow.front().rest(), "") << "the oldest was ended";
    for (auto const& client : slow) client.send("r"); // those that are still connected
    EXPECT_TRUE(is_served(server));
    expect_no_more_memory_than(before_bytes);
}

TEST_F(Attack, TimeIsUpForThoseWhoDribbleAndThoseWhoDoNotRead) {
    auto some = pages();
    some.unhealthy = [] { return std::string(50'000'000, 'x'); };
    auto options = at_any_port();
    options.limits.connection_ns = 1000 * base::kMsNs;
    HttpServer const server(options, some);
    HttpTestClient const dribbling(server), deaf(server);
    ASSERT_TRUE(dribbling.connect() && deaf.connect());
    ASSERT_TRUE(deaf.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    auto const begin_ns = base::monotonic_ns();
    while (dribbling.send("G") && base::monotonic_ns() - begin_ns < 20'000 * base::kMsNs) {
        EXPECT_TRUE(is_served(server)) << "others are served meanwhile";
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_LT(base::monotonic_ns() - begin_ns, 20'000 * base::kMsNs);
    EXPECT_LT(deaf.rest().size(), 50'000'000u);
}

TEST_F(Attack, RandomBytes) {
    HttpServer const server(at_any_port("sesame"), pages());
    std::mt19937 random(11);
    for (int i = 0; i < 300; ++i) {
        HttpTestClient const client(server);
        ASSERT_TRUE(client.connect());
        std::string bytes(random() % 3 ? "POST /control/stop HTTP/1.1\r\nHost: localhost\r\n" : "");
        for (auto count = random() % 300; count > 0; --count) bytes += static_cast<char>(random());
        client.send(bytes);
        if (random() % 4 == 0) client.send_no_more();
        if (random() % 8 == 0) client.send("\r\n\r\n");
    }
    EXPECT_TRUE(is_served(server));
    EXPECT_EQ(obeyed, 0);
}

} // namespace
} // namespace thalweg::monitor
