// Tests a client and servers, without cards: which client owns the events while one of them is slow, late, or gone.
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <thread>

#include "thalweg/base/clock.h"
#include "thalweg/readout/client/client.h"
#include "thalweg/readout/handler/test_one_handler.h"
#include "thalweg/readout/server/test_client.h"

namespace thalweg::readout {
namespace {

using namespace std::chrono_literals;

// Returns whether another collector gets any of the events within this time.
bool another_client_gets_some(OneHandler const& handler, std::chrono::milliseconds time) {
    TestClient other(handler.address(), std::uint64_t{2});
    auto const end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end)
        if (other.ask(Take{.count = 10, .deadline_ms = 10}).count > 0) return true;
    return false;
}

// A client that got all events, commits none, and waits in its callback until it may go on.
struct Slow {
    Slow(ClientOptions const& options, std::atomic<bool>& wait) : client(options) {
        runner = std::jthread([this, &wait] {
            client.run({.event = [this](Event const&) { ++events; },
                        .end_of_range = [this](RangeId const& range) { ranges.push_back(range); },
                        .idle =
                            [this, &wait] {
                                if (events < kEvents) return;
                                is_unfinished = true;
                                wait.wait(true);
                                for (auto const& range : std::exchange(ranges, {})) client.commit(range);
                            }});
            client.settle(5'000'000'000);
        });
        while (!is_unfinished) std::this_thread::sleep_for(1ms);
    }
    Client client;
    std::atomic<std::uint64_t> events = 0;
    std::vector<RangeId> ranges;
    std::atomic<bool> is_unfinished = false;
    std::jthread runner;
};

void go_on(std::atomic<bool>& wait) {
    wait = false;
    wait.notify_all();
}

class Delivery : public ::testing::TestWithParam<Way> {
  protected:
    Delivery() { OneHandler::way = GetParam(); }
    ~Delivery() override { OneHandler::way = Way::flattened; }
};

INSTANTIATE_TEST_SUITE_P(Tcp, Delivery, ::testing::Values(Way::flattened));
INSTANTIATE_TEST_SUITE_P(Local, Delivery, ::testing::Values(Way::local));
INSTANTIATE_TEST_SUITE_P(Memory, Delivery, ::testing::Values(Way::memory));

TEST_P(Delivery, Rule4RangesStayWithACollectorWhoseCallbackTakesLongerThanTheLease) {
    OneHandler one, two(kLeaseNs, 2, 2);
    one.begin(kFirst, kEvents), two.begin(kFirst, kEvents);
    std::atomic<bool> waits = true;
    Slow slow(options_for({&one, &two}), waits);
    EXPECT_FALSE(another_client_gets_some(one, 5000ms));
    EXPECT_EQ(two.index->leases().expired() + one.index->leases().expired(), 0u);
    EXPECT_EQ(two.index->leases().outstanding(), kEvents);
    go_on(waits);
    EXPECT_TRUE(one.is_cleared_before(kFirst + kEvents));
    EXPECT_TRUE(two.is_cleared_before(kFirst + kEvents));
    slow.client.stop();
    slow.runner.join();
    EXPECT_EQ(slow.events, kEvents);
    EXPECT_EQ(slow.client.counters().refused_clears, 0u);
}

TEST_P(Delivery, Rule4ACallbackThatHangsKeepsItsRangesOnlyForAWhile) {
    OneHandler one;
    one.begin(kFirst, kEvents);
    std::atomic<bool> waits = true;
    auto options = options_for({&one});
    options.longest_callback_ns = kLeaseNs;
    Slow slow(options, waits);
    EXPECT_TRUE(another_client_gets_some(one, 20'000ms));
    go_on(waits);
    slow.client.stop();
}

TEST_P(Delivery, Rule4WhoSaysByeGivesItsRangesBackAtOnceWhateverItLeavesUnread) {
    OneHandler one(60'000'000'000);
    one.begin(kFirst, kEvents);
    std::atomic<std::uint64_t> events = 0;
    {
        Client client(options_for({&one}));
        client.run({.event = [&](Event const&) {
            if (++events == 1) client.stop();
        }});
    }
    EXPECT_TRUE(another_client_gets_some(one, 5000ms));
}

// The handlers of a readout do not start at the same moment: the first one gives ranges away, the second one has no run
// yet.
TEST_P(Delivery, AHandlerThatBeginsItsRunLaterIsWaitedForAndLosesNothing) {
    OneHandler one(60'000'000'000), two(60'000'000'000, 2, 2);
    one.begin(kFirst, kEvents);
    std::map<std::size_t, std::uint64_t> by_fragments;
    Client client(options_for({&one, &two}));
    std::thread runner([&] {
        client.run({.event = [&](Event const& event) { ++by_fragments[event.fragments.size()]; },
                    .end_of_range = [&](RangeId const& range) { client.commit(range); }});
    });
    while (one.index->leases().outstanding() < kEvents) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(100ms);
    two.begin(kFirst, kEvents);
    EXPECT_TRUE(two.is_cleared_before(kFirst + kEvents));
    client.stop();
    runner.join();
    EXPECT_EQ(by_fragments[2], kEvents);
    EXPECT_EQ(client.counters().parts_lost, 0u);
}

TEST_P(Delivery, AHandlerThatNeverBeginsTheRunHoldsUpTheOthersOnlyForAWhile) {
    OneHandler one, two(kLeaseNs, 2, 2);
    one.begin(kFirst, 500);
    auto options = options_for({&one, &two});
    options.patience_ns = 200'000'000;
    Client client(options);
    std::uint64_t events = 0;
    auto const begin_ns = base::monotonic_ns();
    client.run({.event =
                    [&](Event const&) {
                        if (++events == 400) client.stop();
                    },
                .end_of_range = [&](RangeId const& range) { client.commit(range); }});
    EXPECT_LT(base::monotonic_ns() - begin_ns, 5'000'000'000u) << "patience is for the handler, not for each range";
    EXPECT_EQ(client.counters().incomplete, client.counters().events);
}

// Events of ranges that were given away before must not hold the handler up: no client would ask for them again.
TEST_P(Delivery, Rule5AHandlerThatIsStartedAnewIsToldWhoseTheRangesAre) {
    OneHandler one(60'000'000'000);
    auto two = std::make_unique<OneHandler>(60'000'000'000, 2, 2);
    one.begin(kFirst, kEvents), two->begin(kFirst, 100);
    auto const address = two->address();
    Client client(options_for({&one, two.get()}));
    std::vector<RangeId> handed_on;
    std::atomic<bool> commits = false;
    std::atomic<std::uint64_t> events = 0;
    std::jthread runner([&] {
        client.run({.event = [&](Event const&) { ++events; },
                    .end_of_range = [&](RangeId const& range) { handed_on.push_back(range); },
                    .idle =
                        [&] {
                            if (!commits) return;
                            for (auto const& range : std::exchange(handed_on, {})) client.commit(range);
                        }});
    });
    while (events < 64) std::this_thread::sleep_for(1ms);
    two.reset();
    two = std::make_unique<OneHandler>(60'000'000'000, 3, 2, address);
    std::this_thread::sleep_for(100ms);    // they meet again before its run begins
    two->begin(kFirst + 30, kEvents - 30); // in the first of the ranges, which is not committed yet
    while (events < kEvents) std::this_thread::sleep_for(1ms);
    commits = true;
    EXPECT_TRUE(two->is_cleared_before(kFirst + kEvents));
    EXPECT_TRUE(one.is_cleared_before(kFirst + kEvents));
    client.stop();
    runner.join();
    EXPECT_EQ(client.counters().refused_clears, 0u);
}

} // namespace
} // namespace thalweg::readout
