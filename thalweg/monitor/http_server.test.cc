#include "thalweg/monitor/http_server.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <random>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/time.h>
#include <thread>
#include <unistd.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/transport/address.h"

namespace thalweg::monitor {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

// A client that waits half a minute at most for anything.
class Client {
  public:
    explicit Client(HttpServer const& server) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        timeval const patience{30, 0};
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        address_ = transport::parse_address(server.address());
    }

    bool connect() const {
        return ::connect(socket_.get(), reinterpret_cast<sockaddr const*>(&address_.storage), address_.size_bytes) == 0;
    }
    bool send(std::string_view text) const {
        return ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
    }
    void send_no_more() const { ::shutdown(socket_.get(), SHUT_WR); }
    // All until the server closes; "timeout" where it does not.
    std::string rest() const {
        std::string text;
        char room[4096];
        for (;;) {
            auto const got = ::recv(socket_.get(), room, sizeof room, 0);
            if (got < 0 && errno == EAGAIN) return "timeout";
            if (got <= 0) return text;
            text.append(room, static_cast<std::size_t>(got));
        }
    }

  private:
    base::FileDescriptor socket_;
    transport::Address address_;
};

std::string ask(HttpServer const& server, std::string const& text) {
    Client const client(server);
    return client.connect() && client.send(text) ? client.rest() : "no connection";
}
std::string get(HttpServer const& server, std::string const& path) {
    return ask(server, "GET " + path + " HTTP/1.1\r\nHost: here\r\n\r\n");
}
bool has(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

Pages some_pages() {
    return {
        .metrics = [] { return std::vector<trace::Sample>{{.name = "answer", .help = "", .value = 42}}; },
        .unhealthy = [] { return std::string(); },
        .not_ready = [] { return std::string("no run yet"); },
        .control = [](std::string const& verb, std::string const& body) -> Answer {
            if (verb == "explode") throw std::runtime_error("the fuse was short");
            if (verb == "start") return {409, "running already: " + body + "\n"};
            return {404, "no such verb\n"};
        },
    };
}

TEST(HttpServer, AnswersWhatIsAsked) {
    HttpServer const server("127.0.0.1:0", some_pages());
    EXPECT_EQ(server.url(), "http://" + server.address());
    auto const metrics = get(server, "/metrics");
    EXPECT_TRUE(metrics.starts_with("HTTP/1.1 200 OK\r\n")) << metrics;
    EXPECT_TRUE(has(metrics, "Content-Type: text/plain; version=0.0.4"));
    EXPECT_TRUE(has(metrics, "Content-Length: 32\r\n"));
    EXPECT_TRUE(metrics.ends_with("\r\n\r\n# TYPE answer counter\nanswer 42\n")) << metrics;
    EXPECT_TRUE(has(get(server, "/healthz"), "200 OK"));
    EXPECT_TRUE(has(get(server, "/readyz"), "503 Service Unavailable"));
    EXPECT_TRUE(has(get(server, "/readyz"), "\r\n\r\nno run yet\n"));
}

TEST(HttpServer, RefusesWhatItMust) {
    HttpServer const server("127.0.0.1:0", some_pages());
    EXPECT_TRUE(has(get(server, "/"), "404 Not Found"));
    EXPECT_TRUE(has(get(server, "/metricsx"), "there is /metrics, /healthz, /readyz, and POST /control/VERB"));
    EXPECT_TRUE(has(ask(server, "POST /metrics HTTP/1.1\r\n\r\n"), "405 Method Not Allowed"));
    EXPECT_TRUE(has(ask(server, "DELETE /metrics HTTP/1.1\r\n\r\n"), "Allow: GET\r\n"));
    EXPECT_TRUE(has(get(server, "/control/start"), "Allow: POST\r\n"));
    EXPECT_TRUE(has(ask(server, "\x16\x03\x01 this is TLS"), "400 Bad Request"));
    EXPECT_TRUE(has(ask(server, "GET /" + std::string(20'000, 'a')), "413 Content Too Large")) << "and no reset";
    EXPECT_TRUE(has(ask(server, "POST /control/start HTTP/1.1\r\nContent-Length: 9000\r\n\r\n"), "413"));
}

TEST(HttpServer, IsControlled) {
    HttpServer const server("127.0.0.1:0", some_pages());
    std::string const start = "POST /control/start HTTP/1.1\r\nContent-Length: 3\r\n";
    auto const conflict = ask(server, start + "\r\nseven");
    EXPECT_TRUE(conflict.starts_with("HTTP/1.1 409 Conflict\r\n")) << conflict;
    EXPECT_TRUE(conflict.ends_with("running already: sev\n")) << conflict;
    EXPECT_TRUE(has(ask(server, start + "Origin: http://elsewhere\r\n\r\nsev"), "403 Forbidden"));
    EXPECT_TRUE(has(ask(server, "POST /control/x HTTP/1.1\r\n\r\n"), "404"));
    EXPECT_TRUE(has(ask(server, "POST /control/explode HTTP/1.1\r\n\r\n"), "500 Internal Server Error"));
    EXPECT_TRUE(has(ask(server, "POST /control/explode HTTP/1.1\r\n\r\n"), "the fuse was short"));
    HttpServer const plain("127.0.0.1:0", {});
    EXPECT_TRUE(has(ask(plain, start + "\r\nsev"), "404 Not Found")) << "nothing to control";
    EXPECT_TRUE(has(get(plain, "/metrics"), "404 Not Found"));
}

TEST(HttpServer, APortInUseIsSaid) {
    HttpServer const server("127.0.0.1:0", {});
    EXPECT_THROW(HttpServer(server.address(), {}), base::SystemError);
    EXPECT_THROW(HttpServer("nonsense", {}), base::UsageError);
}

TEST(HttpServer, TakesRequestsByTheByteAndFromWhoSendsNoMore) {
    HttpServer const server("127.0.0.1:0", some_pages());
    Client const slow(server);
    ASSERT_TRUE(slow.connect());
    for (char const c : std::string_view("GET /healthz HTTP/1.1\r\n\r\n")) ASSERT_TRUE(slow.send({&c, 1}));
    slow.send_no_more();
    EXPECT_TRUE(has(slow.rest(), "200 OK"));
}

TEST(HttpServer, WhoSaysNothingShutsNobodyOut) {
    HttpServer const server("127.0.0.1:0", some_pages(), {.connection_ns = 60'000 * kMs});
    std::vector<Client> silent;
    for (int i = 0; i < 200; ++i) {
        silent.emplace_back(server);
        ASSERT_TRUE(silent.back().connect());
        ASSERT_TRUE(silent.back().send(i % 2 ? "GET /met" : ""));
    }
    auto const begin_ns = base::monotonic_ns();
    EXPECT_TRUE(has(get(server, "/metrics"), "answer 42"));
    EXPECT_LT(base::monotonic_ns() - begin_ns, 20'000 * kMs) << "it waited until their time was up";
    EXPECT_EQ(silent.front().rest(), "") << "the oldest was ended";
}

TEST(HttpServer, TimeIsUpForThoseWhoDribbleAndThoseWhoDoNotRead) {
    auto pages = some_pages();
    pages.unhealthy = [] { return std::string(50'000'000, 'x'); };
    HttpServer const server("127.0.0.1:0", pages, {.connection_ns = 1000 * kMs});
    Client const dribbling(server), deaf(server);
    ASSERT_TRUE(dribbling.connect() && deaf.connect());
    ASSERT_TRUE(deaf.send("GET /healthz HTTP/1.1\r\n\r\n"));
    auto const begin_ns = base::monotonic_ns();
    while (dribbling.send("G") && base::monotonic_ns() - begin_ns < 20'000 * kMs) {
        EXPECT_TRUE(has(get(server, "/metrics"), "answer 42")) << "others are served meanwhile";
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_LT(base::monotonic_ns() - begin_ns, 20'000 * kMs);
    EXPECT_LT(deaf.rest().size(), 50'000'000u);
}

TEST(HttpServer, RandomClientsDoNoHarm) {
    HttpServer const server("127.0.0.1:0", some_pages());
    std::mt19937 random(11);
    for (int i = 0; i < 300; ++i) {
        Client const client(server);
        ASSERT_TRUE(client.connect());
        std::string bytes(random() % 3 ? "GET /metrics HTTP/1.1\r\n" : "");
        for (auto count = random() % 300; count > 0; --count) bytes += static_cast<char>(random());
        client.send(bytes);
        if (random() % 4 == 0) client.send_no_more();
        if (random() % 8 == 0) client.send("\r\n\r\n");
    }
    EXPECT_TRUE(has(get(server, "/healthz"), "200 OK"));
}

TEST(HttpServer, WithoutDescriptorsClientsWaitAndNothingSpins) {
    HttpServer const server("127.0.0.1:0", some_pages());
    Client const client(server);
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
    bool const sent = client.connect() && client.send("GET /metrics HTTP/1.1\r\n\r\n");
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    auto const used_ms = cpu_ms() - before_ms;
    ::setrlimit(RLIMIT_NOFILE, &usual);
    EXPECT_TRUE(sent);
    EXPECT_LT(used_ms, 100);
    EXPECT_TRUE(has(client.rest(), "answer 42"));
}

TEST(HttpServer, EndsAtOnceWhoeverIsConnected) {
    auto const begin_ns = base::monotonic_ns();
    {
        HttpServer const server("127.0.0.1:0", some_pages(), {.connection_ns = 60'000 * kMs});
        Client const client(server);
        ASSERT_TRUE(client.connect());
    }
    EXPECT_LT(base::monotonic_ns() - begin_ns, 20'000 * kMs);
}

} // namespace
} // namespace thalweg::monitor
