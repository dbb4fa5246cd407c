// Tests events that the first handler does not have: a card that dies may have sent its last events to some handlers
// only.
#include <gtest/gtest.h>
#include <map>

#include "thalweg/base/clock.h"
#include "thalweg/readout/client/client.h"
#include "thalweg/readout/handler/test_one_handler.h"

namespace thalweg::readout {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSecondEpoch = 2ull << 32;
constexpr std::uint64_t kShortLeaseNs = 400'000'000;

struct Collecting {
    explicit Collecting(ClientOptions const& options) : client(options) {
        runner = std::jthread([this] {
            client.run({.event =
                            [this](Event const& event) {
                                ++times[event.event];
                                ++events;
                                fragments += event.fragments.size();
                            },
                        .end_of_range = [this](RangeId const& range) { client.commit(range); }});
            client.settle(5'000'000'000);
        });
    }
    bool reaches(std::uint64_t count) const {
        for (int i = 0; i < 1000 && events < count; ++i) std::this_thread::sleep_for(10ms);
        return events == count;
    }
    Client client;
    std::map<std::uint64_t, int> times;
    std::atomic<std::uint64_t> events = 0, fragments = 0;
    std::jthread runner;
};

std::uint64_t cleared(OneHandler const& handler) { return handler.index->books()[0].cleared; }

TEST(LeftBehind, EventsThatOnlyTheSecondHandlerHasAreHandedOn) {
    OneHandler one(kShortLeaseNs), two(kShortLeaseNs, 2, 2);
    one.begin(kFirst, 192), two.begin(kFirst, 200);
    one.jump(kSecondEpoch, 192), two.jump(kSecondEpoch, 192);
    Collecting all(options_for({&one, &two}));
    EXPECT_TRUE(all.reaches(192 + 8 + 192)) << all.events;
    all.client.stop();
    all.runner.join();
    EXPECT_EQ(all.client.counters().left_behind, 8u);
    EXPECT_EQ(all.client.counters().incomplete, 8u);
    EXPECT_EQ(cleared(one), 384u);
    EXPECT_EQ(cleared(two), 392u) << "the books of the handlers are those of the collector";
    EXPECT_EQ(all.fragments, cleared(one) + cleared(two));
}

TEST(LeftBehind, ItIsTakenWhileAllRangesInFlightWaitForTheSameHandler) {
    OneHandler one(kShortLeaseNs), two(kShortLeaseNs, 2, 2);
    one.begin(kFirst + 8, 192), two.begin(kFirst, 8); // and stands still: its index is full, say
    auto options = options_for({&one, &two});
    options.ranges_in_flight = 1;
    Collecting all(options);
    EXPECT_TRUE(all.reaches(8)) << all.events;
    all.client.stop();
    all.runner.join();
    EXPECT_EQ(all.client.counters().left_behind, 8u);
}

TEST(LeftBehind, AtTheEndOfARunItIsHandedOnBeforeTheClientEnds) {
    OneHandler one(60'000'000'000), two(60'000'000'000, 2, 2);
    one.begin(kFirst, 192), two.begin(kFirst, 200);
    Collecting all(options_for({&one, &two}));
    EXPECT_TRUE(all.reaches(192));
    one.server->end_run();
    one.server->wait_until_cleared(10'000'000'000);
    std::this_thread::sleep_for(200ms); // the collector hears that it was all
    one.server->stop();
    std::this_thread::sleep_for(300ms); // the second one is told to stop a little later
    two.server->end_run();
    EXPECT_TRUE(two.server->wait_until_cleared(20'000'000'000));
    all.runner.join();
    EXPECT_EQ(all.events, 200u);
    EXPECT_EQ(cleared(two), 200u);
}

// A collector died. The first handler has given its ranges to the next one, but the second handler still waits for the
// end of the lease.
TEST(LeftBehind, WhatASecondHandlerStillKeepsForADeadCollectorIsClearedByItsSuccessor) {
    OneHandler one(60'000'000'000), two(600'000'000, 2, 2);
    one.begin(kFirst, 192), two.begin(kFirst, 192);
    OwnerId const dead{1, 2};
    two.index->claim(kFirst, 192, RangeOwner(dead), base::monotonic_ns());
    Collecting all(options_for({&one, &two}));
    EXPECT_TRUE(all.reaches(192));
    all.client.stop(); // all is in its file
    all.runner.join();
    EXPECT_EQ(cleared(one), 192u);
    EXPECT_EQ(cleared(two), 192u);
    EXPECT_EQ(all.client.counters().refused_clears, 0u);
    EXPECT_EQ(all.client.counters().left_behind, 0u);
}

// A handler that has not begun is not a handler that has nothing.
TEST(LeftBehind, AHandlerThatHadNotBegunTheRunIsWaitedForAtItsEnd) {
    OneHandler one(60'000'000'000), two(60'000'000'000, 2, 2);
    one.begin(kFirst + 8, 192);
    Collecting all(options_for({&one, &two}));
    std::this_thread::sleep_for(200ms); // it is asked, and has no run
    two.begin(kFirst, 200);
    EXPECT_TRUE(all.reaches(192));
    one.server->end_run();
    one.server->wait_until_cleared(10'000'000'000);
    std::this_thread::sleep_for(100ms);
    two.server->end_run();
    EXPECT_TRUE(two.server->wait_until_cleared(20'000'000'000));
    all.runner.join();
    EXPECT_EQ(all.events, 200u);
}

TEST(LeftBehind, AHandlerThatIsAwayWhenTheFirstOneEndsIsWaitedFor) {
    OneHandler one(60'000'000'000);
    auto two = std::make_unique<OneHandler>(60'000'000'000, 2, 2);
    one.begin(kFirst, 192), two->begin(kFirst, 192);
    auto const address = two->address();
    Collecting all(options_for({&one, two.get()}));
    EXPECT_TRUE(all.reaches(192));
    two.reset();
    one.server->end_run();
    one.server->wait_until_cleared(10'000'000'000);
    std::this_thread::sleep_for(300ms);
    two = std::make_unique<OneHandler>(60'000'000'000, 3, 2, address); // killed, and started anew
    two->begin(kFirst + 192, 8);
    two->server->end_run();
    EXPECT_TRUE(two->server->wait_until_cleared(20'000'000'000));
    all.runner.join();
    EXPECT_EQ(all.events, 200u);
}

TEST(LeftBehind, AHandlerThatGoesOnIsNotWaitedForForEver) {
    OneHandler one(60'000'000'000), two(60'000'000'000, 2, 2);
    one.begin(kFirst, 192), two.begin(kFirst, 192);
    auto options = options_for({&one, &two});
    options.patience_ns = 200'000'000;
    Collecting all(options);
    EXPECT_TRUE(all.reaches(192));
    one.server->end_run();
    one.server->wait_until_cleared(10'000'000'000);
    all.runner.join();
    EXPECT_EQ(all.events, 192u);
}

TEST(LeftBehind, WhatTheFirstHandlerLostWhenItWasStartedAnewIsNoGap) {
    auto one = std::make_unique<OneHandler>(kShortLeaseNs);
    OneHandler two(kShortLeaseNs, 2, 2);
    one->begin(kFirst, 64), two.begin(kFirst, 400);
    auto const address = one->address();
    Collecting all(options_for({one.get(), &two}));
    EXPECT_TRUE(all.reaches(64));
    one.reset();
    one = std::make_unique<OneHandler>(kShortLeaseNs, 3, 1, address);
    one->begin(kFirst + 300, 100);
    EXPECT_TRUE(all.reaches(400)) << all.events;
    all.client.stop();
    all.runner.join();
    auto const counters = all.client.counters();
    EXPECT_EQ(counters.gaps, 0u);
    EXPECT_EQ(counters.left_behind, 236u);
    EXPECT_EQ(cleared(two), 400u);
}

} // namespace
} // namespace thalweg::readout
