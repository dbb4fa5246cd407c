// Tests a client with thousands of connections: a server keeps few connections without a hello.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "thalweg/readout/client/client.h"
#include "thalweg/readout/handler/test_one_handler.h"

namespace thalweg::readout {
namespace {

TEST(ManyConnections, AClientOpensThreeThousandWithoutLosingOne) {
    constexpr std::uint32_t kConnections = 3000;
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur < 2 * kConnections + 200) GTEST_SKIP() << "only " << files.rlim_cur << " files may be open";
    OneHandler one;
    one.begin(kFirst, kEvents);
    auto options = options_for({&one});
    options.connections = kConnections;
    Client client(options);
    std::atomic<std::uint64_t> events = 0;
    std::jthread runner([&] {
        client.run({.event = [&](Event const&) { ++events; },
                    .end_of_range = [&](RangeId const& range) { client.commit(range); }});
    });
    auto const sample = [&](std::string const& name) {
        for (auto const& each : one.server->samples())
            if (each.name == "thalweg_readout_" + name) return each.value;
        return -1.0;
    };
    for (int i = 0; i < 6000 && sample("connections") < kConnections; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_GE(sample("connections"), kConnections);
    EXPECT_EQ(sample("silent_connections_total"), 0) << "connections were thrown out";
    EXPECT_EQ(client.counters().reconnects, 0u);
    client.stop();
    runner.join();
    EXPECT_EQ(events, kEvents);
}

} // namespace
} // namespace thalweg::readout
