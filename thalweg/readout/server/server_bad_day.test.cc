#include <deque>
#include <random>
#include <sys/resource.h>

#include "thalweg/base/error.h"
#include "thalweg/readout/server/testing.h"

namespace thalweg::readout {
namespace {

using namespace std::chrono_literals;

class ServerBadDay : public ServerTest {};

INSTANTIATE_TEST_SUITE_P(Flattened, ServerBadDay, testing::Values(Way::flattened));
INSTANTIATE_TEST_SUITE_P(Scattered, ServerBadDay, testing::Values(Way::scattered));
INSTANTIATE_TEST_SUITE_P(Local, ServerBadDay, testing::Values(Way::local));
INSTANTIATE_TEST_SUITE_P(Memory, ServerBadDay, testing::Values(Way::memory));

TEST_P(ServerBadDay, TheTokenMustBeRight) {
    config.token = "sesame";
    start();
    for (std::string const token : {"", "sesam", "sesamE", "sesamesesame"}) {
        TestClient client(server->address());
        client.hello(1, ClientRole::collector, token);
        auto const refused = client.receive();
        EXPECT_EQ(refused.as<Refused>().why, Refusal::not_allowed);
        EXPECT_EQ(refused.sentence(),
                  token.empty() ? "dh0 wants a token, and none was given" : "the token is not the one of dh0");
        EXPECT_TRUE(client.receive().end);
    }
    TestClient client(server->address());
    client.hello(1, ClientRole::collector, "sesame");
    EXPECT_EQ(client.receive().head.type, MessageType::welcome);
    EXPECT_TRUE(becomes("refusals_total", 4, "not_allowed"));
}

TEST_P(ServerBadDay, NoClientOutsideTheAllowedNetworksGetsIn) {
    if (is_local(GetParam())) GTEST_SKIP() << "the mode of its socket says who may connect";
    config.allow = {"10.0.0.0/8"};
    start();
    TestClient client(server->address());
    auto const refused = client.receive();
    EXPECT_EQ(refused.as<Refused>().why, Refusal::not_allowed);
    EXPECT_TRUE(refused.sentence().starts_with("dh0 accepts no connections from 127.0.0.1:")) << refused.sentence();
}

TEST_P(ServerBadDay, TooManyConnectionsAreToldSo) {
    config.max_connections = 2;
    start();
    auto one = collector(1);
    {
        auto two = collector(2);
        TestClient three(server->address());
        three.hello(3);
        auto const refused = three.receive();
        EXPECT_EQ(refused.as<Refused>().why, Refusal::busy);
        EXPECT_EQ(refused.sentence(), "dh0 has 2 connections, and takes no more");
    }
    EXPECT_TRUE(becomes("connections", 1));
    auto two = collector(2);
}

TEST_P(ServerBadDay, SilentConnectionsPushOutOnlyEachOther) {
    config.max_connections = 2;
    config.threads = 1;
    rlimit limit;
    ::getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < 1300) GTEST_SKIP() << "too few descriptors: " << limit.rlim_cur;
    start();
    std::deque<TestClient> silent;
    for (int i = 0; i < 600; ++i) silent.emplace_back(server->address());
    auto const welcome = collector(1);
    EXPECT_TRUE(silent.front().receive().end);
    EXPECT_LE(sample("connections"), 513);
}

class Crowd : public ServerBadDay {
  protected:
    void SetUp() override {
        rlimit limit;
        ::getrlimit(RLIMIT_NOFILE, &limit);
        if (limit.rlim_cur < 3500) GTEST_SKIP() << "too few descriptors: " << limit.rlim_cur;
        config.threads = 2;
        start();
        begin = std::chrono::steady_clock::now();
    }
    // At most so many connections go in 10 ms. The test need not wait for the ends of the first and the last batch.
    void expect_time_to_say_hello(int pushed_out, int in_a_batch) {
        EXPECT_TRUE(reaches("silent_connections_total", pushed_out));
        EXPECT_GE(std::chrono::steady_clock::now() - begin, (pushed_out / in_a_batch - 2) * 10ms);
    }

    std::chrono::steady_clock::time_point begin;
    std::deque<TestClient> silent;
};

INSTANTIATE_TEST_SUITE_P(Scattered, Crowd, testing::Values(Way::scattered));

TEST_P(Crowd, HoweverManyKnockEachHasTimeToSayHello) {
    for (int i = 0; i < 1700; ++i) silent.emplace_back(server->address());
    expect_time_to_say_hello(1000, 64);
}

// Connections come so slowly that the server is never behind.
TEST_P(Crowd, SoHasAClientThatIsPushedOutByFewAtATime) {
    for (int i = 1; i <= 1700; ++i) {
        silent.emplace_back(server->address());
        if (i % 8 == 0) {
            auto const until = std::chrono::steady_clock::now() + 10s;
            while (sample("accepted_total") < i && std::chrono::steady_clock::now() < until) std::this_thread::yield();
        }
    }
    expect_time_to_say_hello(1000, 64);
}

// Every second connection closes at once, so all that stay belong to one of the two threads.
TEST_P(Crowd, SoHasAClientThatIsWithTheFullThread) {
    for (int i = 0; i < 1700; ++i) {
        if (silent.emplace_back(server->address()); i % 2 == 1) silent.pop_back();
    }
    expect_time_to_say_hello(500, 32);
}

TEST_P(ServerBadDay, MessagesThatLieEndOnlyTheirOwnConnection) {
    start();
    ring->add(10);
    auto good = collector();
    auto const refusal_of = [&](MessageHead const& head, std::size_t body_bytes, bool greet) {
        TestClient bad(server->address());
        if (greet) bad.hello(5), bad.receive();
        std::vector<std::byte> bytes(sizeof head + body_bytes);
        std::memcpy(bytes.data(), &head, sizeof head);
        bad.send_bytes(bytes.data(), bytes.size());
        auto const refused = bad.receive();
        EXPECT_EQ(refused.head.type, MessageType::refused);
        EXPECT_TRUE(bad.receive().end);
        return refused.sentence();
    };
    EXPECT_EQ(refusal_of({.marker = 0x20544547}, 0, false), "a message begins with 0x20544547 instead of \"TWGR\"");
    EXPECT_EQ(refusal_of({.version = 9}, 0, false), "this handler speaks version 4 of the protocol, and the client "
                                                    "version 9: use the same release of Thalweg for both");
    EXPECT_EQ(refusal_of({.type = MessageType::get, .length_bytes = 40}, 40, false),
              "the first message of a connection is a hello");
    EXPECT_EQ(refusal_of({.type = MessageType::get, .length_bytes = 23}, 23, true),
              "message 3 has 40 bytes behind its head, not 23");
    EXPECT_EQ(refusal_of({.type = MessageType::get, .length_bytes = ~0u}, 10, true),
              "a message of 4294967311 bytes is longer than any that a client may send");
    EXPECT_EQ(refusal_of({.type = MessageType::events}, 0, true), "clients send no message 18");
    EXPECT_EQ(refusal_of({.type = MessageType::take, .length_bytes = 48}, 48, true),
              "message 2 has 40 bytes behind its head and up to 63 times 16 more, not 48");
    EXPECT_EQ(refusal_of({.type = MessageType::clear, .length_bytes = 65 * 32}, 65 * 32, true),
              "message 4 has 32 bytes behind its head and up to 63 times 32 more, not 2080");
    EXPECT_EQ(good.ask(Get{kFirst, kRun, 3, kAll, 0}).states(), "ccc");
}

TEST_P(ServerBadDay, AClientOfAnotherVersionIsToldSoInAMessageOfItsOwn) {
    start();
    TestClient old(server->address());
    Hello const hello{ClientRole::collector, 0, {1, 1}};
    MessageHead const head{.version = 2, .length_bytes = sizeof hello, .tag = 5};
    old.send_bytes(&head, sizeof head);
    old.send_bytes(&hello, sizeof hello);
    auto const refused = old.receive();
    EXPECT_EQ(refused.head.type, MessageType::refused);
    EXPECT_EQ(refused.head.version, 2u) << "otherwise it could not read it";
    EXPECT_EQ(refused.sentence(), "this handler speaks version 4 of the protocol, and the client version 2: use the "
                                  "same release of Thalweg for both");
    EXPECT_TRUE(old.receive().end);
}

TEST_P(ServerBadDay, WhoReadsARangeAndItsOwnerOnTheNetworkCannotClearIt) {
    start();
    ring->add(10);
    auto owner = collector(1);
    RangeKey const key{3, 4};
    auto const taken = owner.ask(Take{.count = 10, .seal = seal_of(key)});
    ASSERT_EQ(taken.count, 10u);
    auto thief = collector(1);
    EXPECT_FALSE(thief.ask(Clear{kFirst, kRun, 10}));
    EXPECT_FALSE(thief.ask(Clear{kFirst, kRun, 10, seal_of(key)})) << "the seal is no key";
    thief.ask(Get{kFirst, kRun, 10, kAll, 0, seal_of({5, 6})});
    EXPECT_FALSE(thief.ask(Clear{kFirst, kRun, 10, {5, 6}})) << "it is sealed already";
    EXPECT_EQ(index->leases().cleared_before(), kFirst);
    EXPECT_TRUE(owner.ask(Clear{kFirst, kRun, 10, key}));
}

TEST_P(ServerBadDay, RandomBytesDoNoHarm) {
    start();
    ring->add(10);
    auto good = collector();
    std::mt19937 random(3);
    for (int i = 0; i < 100; ++i) {
        TestClient bad(server->address());
        if (i % 2 == 0) bad.hello(5);
        std::vector<std::uint32_t> noise(1 + random() % 3000);
        for (auto& word : noise) word = static_cast<std::uint32_t>(random());
        MessageHead const head{.type = static_cast<MessageType>(random() % 7),
                               .length_bytes = static_cast<std::uint32_t>(random() % 64)};
        if (i % 3 == 0) std::memcpy(noise.data(), &head, std::min(sizeof head, noise.size() * 4));
        bad.send_bytes(noise.data(), noise.size() * 4);
    }
    EXPECT_EQ(good.ask(Get{kFirst, kRun, 3, kAll, 0}).states(), "ccc");
    EXPECT_TRUE(becomes("connections", 1));
}

TEST_P(ServerBadDay, ClientsThatVanishInMidAnswerLeaveNothingBehind) {
    start();
    ring->add(4000);
    for (int i = 0; i < 30; ++i) {
        TestClient gone(server->address(), 4096);
        gone.hello(static_cast<std::uint64_t>(i));
        for (int k = 0; k < 20; ++k) gone.get({kFirst, kRun, 4000, kAll, 0});
        gone.get({kFirst + 3999, kRun, 2, kAll, 60'000}); // and one that waits
        if (i % 2 == 0) gone.receive();
        linger const reset{1, 0};
        if (i % 3 == 0) ::setsockopt(gone.fd(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    }
    EXPECT_TRUE(becomes("connections", 0));
    EXPECT_TRUE(becomes("pending_requests", 0));
    EXPECT_GT(sample("broken_connections_total"), 0);
}

TEST_P(ServerBadDay, ManyConnectionsAndManyPendingRequests) {
    constexpr int kClients = 500;
    rlimit limit;
    ::getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < 2 * kClients + 50) GTEST_SKIP() << "too few descriptors: " << limit.rlim_cur;
    start(8192);
    std::deque<TestClient> clients;
    for (int i = 0; i < kClients; ++i) {
        clients.emplace_back(server->address());
        clients.back().hello(static_cast<std::uint64_t>(i));
        clients.back().get({kFirst + static_cast<std::uint64_t>(i), kRun, 1, kAll, 60'000}, 1);
        clients.back().take({.count = 2, .deadline_ms = 60'000, .min_count = 2}, 2);
    }
    EXPECT_TRUE(becomes("pending_requests", 2 * kClients));
    for (auto& client : clients) EXPECT_EQ(client.receive().head.type, MessageType::welcome);
    ring->add(kClients);
    std::uint64_t taken = 0;
    for (auto& client : clients) EXPECT_EQ(client.receive().states(), "c");
    server->end_run();
    server->wait_until_cleared(0);
    for (auto& client : clients) taken += client.receive().as<Taken>().count;
    EXPECT_EQ(taken, 0u) << "the client that asked for an event owns it: nothing is left to take";
}

TEST_P(ServerBadDay, OutOfDescriptorsOthersGoOnAndItRecovers) {
    start();
    ring->add(10);
    auto good = collector();
    rlimit limit;
    ::getrlimit(RLIMIT_NOFILE, &limit);
    TestClient waiting(server->address()); // it has a descriptor here, and is to be accepted later
    std::vector<base::FileDescriptor> hoard;
    rlimit const low{64, limit.rlim_max};
    std::deque<TestClient> clients;
    for (int i = 0; i < 4; ++i) clients.emplace_back(server->address());
    EXPECT_TRUE(becomes("connections", 6));
    auto const at = transport::parse_address(server->address());
    base::FileDescriptor late(::socket(at.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ::setrlimit(RLIMIT_NOFILE, &low);
    while (true) {
        base::FileDescriptor fd(::dup(0));
        if (!fd) break;
        hoard.push_back(std::move(fd));
    }
    EXPECT_EQ(0, ::connect(late.get(), reinterpret_cast<sockaddr const*>(&at.storage), at.size_bytes));
    auto const cpu_ns = server->cpu_ns();
    std::this_thread::sleep_for(250ms);
    EXPECT_LT(server->cpu_ns() - cpu_ns, 100'000'000u) << "it spins";
    EXPECT_EQ(good.ask(Get{kFirst, kRun, 3, kAll, 0}).states(), "ccc");
    EXPECT_TRUE(reaches("accept_failures_total", 1));
    hoard.clear();
    ::setrlimit(RLIMIT_NOFILE, &limit);
    EXPECT_TRUE(becomes("connections", 7));
}

TEST_P(ServerBadDay, APortInUseIsSaid) {
    start();
    config.listen = server->address();
    try {
        Server second(config, 1, "dh1");
        FAIL();
    } catch (base::SystemError const& error) {
        auto const place = config.listen.substr(config.listen.starts_with("unix:") ? 5 : 0);
        EXPECT_NE(std::string(error.what()).find(place), std::string::npos) << error.what();
    }
}

} // namespace
} // namespace thalweg::readout
