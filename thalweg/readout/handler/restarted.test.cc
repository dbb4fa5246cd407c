// Tests a handler that ends its run while the first one goes on: it is restarted, and reads its buffer on.
#include <gtest/gtest.h>

#include "thalweg/base/clock.h"
#include "thalweg/readout/client/client.h"
#include "thalweg/readout/handler/test_one_handler.h"

namespace thalweg::readout {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kLongNs = 60'000'000'000, kPatienceNs = 20'000'000'000;
constexpr std::uint64_t kAll = 400, kBefore = 100; // kBefore lies inside of a range
constexpr std::uint64_t kShortNs = 400'000'000;

struct Collecting {
    explicit Collecting(ClientOptions const& options) : client(options) {
        runner = std::jthread([this] {
            client.run({.event = [this](Event const&) { ++events; },
                        .end_of_range = [this](RangeId const& range) { client.commit(range); }});
            client.settle(5'000'000'000);
        });
    }
    bool reaches(std::uint64_t count) const {
        for (int i = 0; i < 2000 && events < count; ++i) std::this_thread::sleep_for(10ms);
        return events == count;
    }
    ClientCounters end() {
        client.stop();
        runner.join();
        return client.counters();
    }
    Client client;
    std::atomic<std::uint64_t> events = 0;
    std::jthread runner;
};

// Ends the run when collectors have asked for events: what was never asked for is given to any of them.
void end_run(OneHandler& handler) {
    for (int i = 0; i < 2000 && handler.index->leases().outstanding() + handler.index->books()[0].cleared == 0; ++i)
        std::this_thread::sleep_for(10ms);
    handler.server->end_run();
}

bool drains(OneHandler& handler) {
    end_run(handler);
    return handler.server->wait_until_cleared(kPatienceNs) && handler.server->wait_until_told(kPatienceNs);
}

ClientOptions patient(std::vector<OneHandler*> const& handlers) {
    auto options = options_for(handlers);
    options.return_ns = 10 * kLongNs;
    return options;
}

TEST(Restarted, EventsBehindItsEndWaitForTheNextOne) {
    OneHandler one(kLongNs);
    auto two = std::make_unique<OneHandler>(kLongNs, 2, 2);
    one.begin(kFirst, kAll), two->begin(kFirst, kBefore);
    auto const address = two->address();
    Collecting all(patient({&one, two.get()}));
    EXPECT_TRUE(drains(*two)) << "nothing that it has waits for its successor";
    EXPECT_TRUE(all.reaches(kBefore));
    EXPECT_EQ(two->index->books()[0].cleared, kBefore);
    two.reset();
    two = std::make_unique<OneHandler>(kLongNs, 3, 2, address);
    two->begin(kFirst + kBefore, kAll - kBefore);
    EXPECT_TRUE(all.reaches(kAll)) << all.events;
    auto const counters = all.end();
    EXPECT_EQ(counters.complete, kAll);
    EXPECT_EQ(counters.incomplete + counters.duplicates + counters.left_behind + counters.parts_lost, 0u);
    EXPECT_EQ(one.index->books()[0].cleared, kAll);
    EXPECT_EQ(two->index->books()[0].cleared, kAll - kBefore);
    for (auto const& each : all.client.missing_parts()) EXPECT_EQ(each.without + each.in_part, 0u) << each.address;
}

TEST(Restarted, AHandlerThatStaysAwayIsWaitedForOnlyForAWhile) {
    OneHandler one(kShortNs);
    auto two = std::make_unique<OneHandler>(kShortNs, 2, 2);
    one.begin(kFirst, kAll), two->begin(kFirst, kBefore);
    auto const address = two->address();
    auto options = options_for({&one, two.get()});
    options.return_ns = 200'000'000;
    Collecting all(options);
    EXPECT_TRUE(drains(*two));
    EXPECT_TRUE(all.reaches(kAll)) << all.events;
    EXPECT_TRUE(one.is_cleared_before(kFirst + kAll));
    two.reset();
    two = std::make_unique<OneHandler>(kShortNs, 3, 2, address);
    two->begin(kFirst + kBefore, kAll - kBefore);
    for (int i = 0; i < 2000 && !all.client.away().empty(); ++i) std::this_thread::sleep_for(10ms);
    one.jump(kFirst + kAll, 64), two->jump(kFirst + kAll, 64);
    EXPECT_TRUE(all.reaches(kAll + 64)) << all.events;
    EXPECT_TRUE(two->is_cleared_before(kFirst + kAll + 64));
    auto const counters = all.end();
    EXPECT_EQ(counters.incomplete, kAll - kBefore);
    EXPECT_EQ(counters.parts_lost, kAll - kBefore);
    // The handler has them as cleared, and they are in no file. It is told so of those that were cleared while it was
    // away, and the others are fetched once more, as many as it was asked for by then.
    EXPECT_EQ(counters.too_late, counters.duplicates);
    EXPECT_LE(counters.too_late, kAll - kBefore);
    auto const missing = all.client.missing_parts();
    ASSERT_EQ(missing.size(), 2u);
    EXPECT_EQ(missing[0].without, 0u);
    EXPECT_EQ(missing[1].without, kAll - kBefore);
    EXPECT_EQ(missing[1].address, address);
}

TEST(Restarted, IfTheFirstOneEndsTooNothingIsWaitedFor) {
    OneHandler one(kLongNs), two(kLongNs, 2, 2);
    one.begin(kFirst, kAll), two.begin(kFirst, kBefore);
    Collecting all(patient({&one, &two}));
    EXPECT_TRUE(drains(two));
    EXPECT_TRUE(drains(one));
    all.runner.join();
    EXPECT_EQ(all.events, kAll);
    EXPECT_EQ(all.client.counters().incomplete, kAll - kBefore);
    EXPECT_EQ(all.client.counters().parts_lost, 0u) << "it never had them";
}

// What waits for one handler keeps no other one from its end.
TEST(Restarted, HandlersThatEndAtDifferentEventsDoNotWaitForEachOther) {
    OneHandler one(kLongNs), two(kLongNs, 2, 2), three(kLongNs, 3, 3);
    one.begin(kFirst, kAll), two.begin(kFirst, kBefore), three.begin(kFirst, kBefore + 100);
    Collecting some(patient({&one, &two, &three})), others(patient({&one, &two, &three}));
    end_run(two);
    EXPECT_TRUE(drains(three));
    EXPECT_TRUE(drains(two));
    one.server->end_run();
    some.runner.join(), others.runner.join();
    EXPECT_EQ(some.events + others.events, kAll);
}

// A client that waits for a handler takes no more than it has memory for, and still learns that the run is over.
TEST(Restarted, EventsThatWaitHoldAsMuchAsTheCredit) {
    constexpr std::uint64_t kMany = 4000;
    OneHandler one(kLongNs), two(kLongNs, 2, 2);
    one.begin(kFirst, kMany), two.begin(kFirst, 64);
    auto options = patient({&one, &two});
    options.credit_bytes = 16 << 10; // a range has 12 kB
    Collecting all(options);
    EXPECT_TRUE(drains(two));
    EXPECT_TRUE(all.reaches(64));
    for (int i = 0; i < 100 && one.index->leases().outstanding() < 256; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_LE(one.index->leases().outstanding(), 64 * 32u) << "without a limit all are taken at once";
    EXPECT_LT(all.events, kMany);
    EXPECT_TRUE(drains(one));
    all.runner.join();
    EXPECT_EQ(all.events, kMany);
}

} // namespace
} // namespace thalweg::readout
