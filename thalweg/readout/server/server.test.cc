#include "thalweg/readout/server/server.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "thalweg/base/clock.h"
#include "thalweg/readout/server/testing.h"

namespace thalweg::readout {
namespace {

using namespace std::chrono_literals;

INSTANTIATE_TEST_SUITE_P(Flattened, ServerTest, testing::Values(Way::flattened));
INSTANTIATE_TEST_SUITE_P(Scattered, ServerTest, testing::Values(Way::scattered));
INSTANTIATE_TEST_SUITE_P(Local, ServerTest, testing::Values(Way::local));
INSTANTIATE_TEST_SUITE_P(Memory, ServerTest, testing::Values(Way::memory));

TEST_P(ServerTest, WelcomesAndSaysWhatThereIs) {
    start();
    ring->add(10);
    TestClient client(server->address());
    client.hello(1);
    auto const welcome = client.receive().as<Welcome>();
    EXPECT_EQ(welcome.instance, 0xABCDu);
    EXPECT_EQ(welcome.run, kRun);
    EXPECT_EQ(welcome.groups, 1u);
    EXPECT_EQ(welcome.first_event, kFirst);
    EXPECT_EQ(welcome.closed_event, kFirst + 10);
    EXPECT_EQ(welcome.state, static_cast<std::uint32_t>(ReadoutState::running));
    EXPECT_EQ(welcome.max_fragment_bytes, 512u);
    EXPECT_EQ(welcome.lease_ns, config.lease_ns);
}

TEST_P(ServerTest, TakeGetClearAndTheSlotsAreFree) {
    start(64);
    ring->add(64);
    EXPECT_FALSE(ring->has_room());
    auto client = collector();
    auto const taken = client.ask(Take{.count = 40});
    EXPECT_EQ(taken.first, kFirst);
    EXPECT_EQ(taken.count, 40u);
    auto const answer = client.ask(Get{taken.first, kRun, taken.count, kAll, 0});
    auto const events = answer.as<EventsHead>();
    EXPECT_EQ(events.first, kFirst);
    EXPECT_EQ(events.next, kFirst + 40);
    EXPECT_EQ(events.count, 40u);
    EXPECT_EQ(answer.states(), std::string(40, 'c'));
    EXPECT_EQ(answer.body.size(), sizeof(EventsHead) + 40 * (16 + 64 + 336));
    EXPECT_EQ(std::to_integer<int>(answer.body.back()), TestRing::byte_of(kFirst + 39));
    EXPECT_TRUE(client.ask(Clear{taken.first, kRun, taken.count}));
    EXPECT_TRUE(ring->has_room());
    EXPECT_EQ(client.ask(Get{kFirst, kRun, 2, kAll, 0}).states(), "CC");
    EXPECT_EQ(server->fragments_sent(), 40u);
    EXPECT_TRUE(becomes("answered_events_total", 2, "cleared"));
}

TEST_P(ServerTest, Rule4ARequestIsOfAtMost4096EventsOfOneEcr) {
    start();
    ring->add(10);
    auto client = collector();
    auto const why = [&](Get const& get) { return client.ask(get).as<Refused>().why; };
    EXPECT_EQ(why({kFirst, kRun, 0, kAll, 0}), Refusal::bad_range);
    EXPECT_EQ(why({kFirst, kRun, 4097, kAll, 0}), Refusal::bad_range);
    EXPECT_EQ(why({(2ull << 24) - 1, kRun, 2, kAll, 0}), Refusal::bad_range);
    EXPECT_EQ(why({~0ull, kRun, 1, kAll, 0}), Refusal::bad_range);
    EXPECT_EQ(why({~0ull - 1, kRun, 2, kAll, 0}), Refusal::bad_range);
    client.take({.count = 4097});
    EXPECT_EQ(client.receive().as<Refused>().why, Refusal::bad_range);
    client.get({kFirst, kRun + 1, 1, kAll, 0}, 77);
    auto const refused = client.receive();
    EXPECT_EQ(refused.head.tag, 77u);
    EXPECT_EQ(refused.as<Refused>().why, Refusal::wrong_run);
    EXPECT_EQ(refused.as<Refused>().run, kRun);
    EXPECT_EQ(refused.sentence(), "dh0 serves run 7, not 8");
    EXPECT_EQ(client.ask(Get{~0ull - 1, kRun, 1, kAll, 0}).states(), "n");
    EXPECT_EQ(client.ask(Get{0, kRun, 3, kAll, 0}).states(), "aaa");
    EXPECT_EQ(client.ask(Get{kFirst, kRun, 4096, kAll, 0}).states(), std::string(10, 'c') + std::string(4086, 'n'));
}

TEST_P(ServerTest, Rule4AnAnswerHoldsWholeEventsUpToMaxBytesAndOneAtLeast) {
    start();
    ring->add(10);
    auto client = collector();
    auto const next = [&](std::uint32_t max_bytes) {
        return client.ask(Get{kFirst, kRun, 10, max_bytes, 0}).as<EventsHead>().next;
    };
    EXPECT_EQ(next(0), kFirst + 1);
    EXPECT_EQ(next(2 * 416), kFirst + 2);
    EXPECT_EQ(next(3 * 416 - 1), kFirst + 2);
    EXPECT_EQ(next(kAll), kFirst + 10);
}

TEST_P(ServerTest, Rule4FutureRangesParkUntilTheyAreClosed) {
    start();
    ring->add(10);
    auto client = collector();
    client.get({kFirst + 5, kRun, 10, kAll, 60'000}, 1);
    client.get({kFirst, kRun, 10, kAll, 60'000}, 2);
    EXPECT_EQ(client.receive().head.tag, 2u) << "it overtakes the one that waits";
    EXPECT_TRUE(becomes("pending_requests", 1));
    ring->add(4);
    EXPECT_FALSE(client.has_answer(20));
    ring->add(1);
    auto const answer = client.receive();
    EXPECT_EQ(answer.head.tag, 1u);
    EXPECT_EQ(answer.states(), std::string(10, 'c'));
}

TEST_P(ServerTest, Rule4FutureRangesParkUntilTheDeadline) {
    start();
    ring->add(2);
    auto client = collector();
    auto const begin_ns = base::monotonic_ns();
    EXPECT_EQ(client.ask(Get{kFirst, kRun, 4, kAll, 50}).states(), "ccnn");
    EXPECT_GE(base::monotonic_ns() - begin_ns, 50'000'000u);
    EXPECT_EQ(client.ask(Take{.count = 10, .deadline_ms = 1, .min_count = 5}).count, 0u);
}

TEST_P(ServerTest, Rule4ATakeWaitsForMinCountEventsAndGoesNotBeyondTheBudget) {
    config.outstanding_events = 100;
    start();
    auto client = collector(), other = collector(2);
    client.take({.count = 50, .deadline_ms = 60'000, .min_count = 10});
    ring->add(9);
    EXPECT_FALSE(client.has_answer(20));
    ring->add(90);
    EXPECT_EQ(client.receive().as<Taken>().count, 50u);
    ring->add(1000);
    EXPECT_EQ(other.ask(Take{.count = 4096}).count, 50u);
    EXPECT_EQ(other.ask(Take{.count = 4096}).count, 0u) << "all together may hold 100";
    other.take({.count = 10, .deadline_ms = 60'000});
    EXPECT_TRUE(client.ask(Clear{kFirst, kRun, 10}));
    EXPECT_EQ(other.receive().as<Taken>().first, kFirst + 100);
}

TEST_P(ServerTest, Rule4OneMessageTakesSeveralRangesAndOneClearsThem) {
    start(128);
    ring->add(100);
    auto client = collector(), other = collector(2);
    auto const seal = [](std::uint64_t number) { return seal_of({number, number}); };
    auto const ranges = [&](Received const& answer) {
        auto const taken = answer.as<Taken>();
        std::vector<std::pair<std::uint64_t, std::uint32_t>> all{{taken.first - kFirst, taken.count}};
        for (auto const& it : answer.rest<TakenRange>(sizeof taken)) all.emplace_back(it.first - kFirst, it.count);
        return all;
    };
    client.take({.count = 16, .min_count = 16, .seal = seal(1)}, {seal(2), seal(3)});
    EXPECT_EQ(ranges(client.receive()),
              (std::vector<std::pair<std::uint64_t, std::uint32_t>>{{0, 16}, {16, 16}, {32, 16}}));
    client.take({.count = 30, .min_count = 20, .seal = seal(4)}, {seal(5), seal(6)});
    EXPECT_EQ(ranges(client.receive()), (std::vector<std::pair<std::uint64_t, std::uint32_t>>{{48, 30}, {78, 22}}))
        << "the answer does not wait for a third one";
    std::vector<Clear> const clears{
        {kFirst, kRun, 16, {1, 1}}, {kFirst + 16, kRun, 16, {3, 3}}, {kFirst + 32, kRun, 16, {3, 3}}};
    client.clear(clears);
    auto const cleared = client.receive().rest<Cleared>();
    ASSERT_EQ(cleared.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(cleared[i].first, clears[i].first);
        EXPECT_EQ(cleared[i].count, 16u);
        EXPECT_EQ(cleared[i].done, i == 1 ? 0u : 1u) << "each range has its own key";
    }
    EXPECT_EQ(client.ask(Get{kFirst, kRun, 48, kAll, 0}).states(),
              std::string(16, 'C') + std::string(16, 'c') + std::string(16, 'C'));
    other.take({.count = 1, .seal = seal(7)});
    EXPECT_EQ(other.receive().as<Taken>().count, 0u);
}

TEST_P(ServerTest, Rule4OneMessageTakesNoMoreThanAllMayHold) {
    config.outstanding_events = 40;
    start(128);
    ring->add(100);
    auto client = collector();
    client.take({.count = 16, .min_count = 16}, {seal_of({2, 2}), seal_of({3, 3})});
    auto const answer = client.receive();
    EXPECT_EQ(answer.as<Taken>().count, 16u);
    EXPECT_EQ(answer.rest<TakenRange>(sizeof(Taken)).size(), 1u);
    EXPECT_EQ(index->leases().outstanding(), 32u);
}

TEST_P(ServerTest, Rule4IfOneRangeOfAMessageIsRefusedNoneIsCleared) {
    start();
    ring->add(100);
    auto client = collector();
    EXPECT_EQ(client.ask(Take{.count = 16}).count, 16u);
    for (auto const& bad : {Clear{kFirst + 16, kRun, 0}, Clear{kFirst + 16, kRun + 1, 16}, Clear{~0ull, kRun, 1}}) {
        client.clear(std::vector<Clear>{{kFirst, kRun, 16}, bad});
        EXPECT_EQ(client.receive().head.type, MessageType::refused);
        EXPECT_EQ(client.ask(Get{kFirst, kRun, 1, kAll, 0}).states(), "c");
    }
}

TEST_P(ServerTest, Rule4CollectorsTakeDisjointRangesAndOnlyTheOwnerClears) {
    start();
    ring->add(100);
    auto alice = collector(1), bob = collector(2);
    EXPECT_EQ(alice.ask(Take{.count = 10}).first, kFirst);
    EXPECT_EQ(bob.ask(Take{.count = 10}).first, kFirst + 10);
    EXPECT_FALSE(bob.ask(Clear{kFirst, kRun, 10}));
    EXPECT_TRUE(alice.ask(Clear{kFirst, kRun, 10}));
    EXPECT_TRUE(alice.ask(Clear{kFirst, kRun, 10})) << "idempotent";
}

TEST_P(ServerTest, Rule4AVanishedOwnersLeaseExpiresAndItsRangesGoToAnother) {
    config.lease_ns = 1'500'000'000; // longer than she is away
    start();
    ring->add(10);
    auto bob = collector(2);
    {
        auto alice = collector(1);
        EXPECT_EQ(alice.ask(Take{.count = 10}).count, 10u);
    }
    EXPECT_EQ(bob.ask(Take{.count = 10}).count, 0u) << "she may come back";
    {
        auto alice = collector(1);
        EXPECT_TRUE(alice.ask(Clear{kFirst, kRun, 2})) << "as she does";
    }
    bob.take({.count = 10, .deadline_ms = 20'000});
    auto const taken = bob.receive().as<Taken>();
    EXPECT_EQ(taken.first, kFirst + 2);
    EXPECT_EQ(taken.count, 8u);
    EXPECT_EQ(taken.again, 1u);
}

TEST_P(ServerTest, Rule4AVanishedOwnerOfEverythingThatMayBeHeldHoldsUpTheOthersOnlyForItsLease) {
    config.lease_ns = 300'000'000;
    config.outstanding_events = 10;
    start();
    ring->add(100);
    {
        auto alice = collector(1);
        EXPECT_EQ(alice.ask(Take{.count = 10}).count, 10u);
    }
    auto bob = collector(2);
    auto const taken = bob.ask(Take{.count = 10, .deadline_ms = 20'000, .min_count = 10});
    EXPECT_EQ(taken.first, kFirst);
    EXPECT_EQ(taken.count, 10u);
    EXPECT_EQ(taken.again, 1u);
}

TEST_P(ServerTest, WhatIsSaidRightBeforeTheEndOfAConnectionCounts) {
    config.queued_bytes = 100'000;
    start(4096);
    ring->add(4096);
    auto bob = collector(2);
    {
        TestClient alice(server->address(), 4096); // receive buffer
        alice.hello(1);
        alice.take({.count = 4096});
        alice.get_often({kFirst, kRun, 100, kAll, 0}, 400);
        EXPECT_EQ(alice.receive().head.type, MessageType::welcome);
        EXPECT_TRUE(reaches("queue_full_total", 1));
        alice.clear({kFirst, kRun, 7});
        alice.bye();
        // It has arrived, and is unread: the server waits for her to take its answers. A Unix socket delivers at once,
        // and counts what is unread.
        int unsent = 1;
        EXPECT_TRUE(is_local(GetParam()) ||
                    soon([&] { return ::ioctl(alice.fd(), SIOCOUTQ, &unsent) == 0 && unsent == 0; }));
    }
    auto const taken = bob.ask(Take{.count = 10, .deadline_ms = 20'000});
    EXPECT_EQ(taken.first, kFirst + 7);
    EXPECT_EQ(taken.count, 10u);
    EXPECT_TRUE(becomes("connections", 1));
}

TEST_P(ServerTest, ByeGivesLeasesBackAtOnce) {
    start();
    ring->add(10);
    auto alice = collector(1), bob = collector(2);
    alice.ask(Take{.count = 10});
    alice.bye();
    EXPECT_TRUE(alice.receive().end);
    EXPECT_EQ(bob.ask(Take{.count = 10}).count, 10u);
}

TEST_P(ServerTest, ObserversOwnNothingAndHoldNothingBack) {
    start(64);
    ring->add(32);
    auto watcher = observer();
    EXPECT_EQ(watcher.ask(Get{kFirst, kRun, 5, kAll, 0}).states(), "ccccc");
    watcher.take({.count = 1});
    EXPECT_EQ(watcher.receive().as<Refused>().why, Refusal::not_owner);
    watcher.clear({kFirst, kRun, 1});
    EXPECT_EQ(watcher.receive().as<Refused>().why, Refusal::not_owner);
    EXPECT_EQ(index->leases().outstanding(), 0u);
    auto client = collector();
    EXPECT_EQ(client.ask(Take{.count = 32}).count, 32u);
    EXPECT_TRUE(client.ask(Clear{kFirst, kRun, 32}));
    EXPECT_EQ(watcher.ask(Get{kFirst, kRun, 5, kAll, 0}).states(), "CCCCC");
}

TEST_P(ServerTest, Rule4QueuedBytesAreCappedAndRequestsPastThemWait) {
    config.queued_bytes = 100'000;
    config.threads = 1;
    start(4096);
    ring->add(4096);
    TestClient slow(server->address(), 4096); // receive buffer
    slow.hello(1);
    constexpr std::uint32_t kRequests = 400;
    slow.get_often({kFirst, kRun, 100, kAll, 0}, kRequests);
    EXPECT_TRUE(reaches("queue_full_total", 1));
    std::this_thread::sleep_for(20ms);
    EXPECT_LT(sample("requests_total", "get"), kRequests) << "the rest waits in sockets";
    EXPECT_TRUE(sample("queued_bytes") < 200'000);
    auto other = collector(2);
    EXPECT_EQ(other.ask(Get{kFirst, kRun, 5, kAll, 0}).states(), "ccccc") << "others are not affected";
    EXPECT_EQ(slow.receive().head.type, MessageType::welcome);
    for (std::uint32_t tag = 0; tag < kRequests; ++tag) {
        auto const answer = slow.receive();
        ASSERT_EQ(answer.head.tag, tag);
        ASSERT_EQ(answer.states(), std::string(100, 'c'));
    }
}

// 1.7 MB at 4 MB a second. The kernel sends the first ten segments, of up to 64 KiB on loopback, without a limit.
TEST_P(ServerTest, AnswersArePaced) {
    config.pacing_bytes_s = 4'000'000;
    start(4096);
    ring->add(4096);
    auto client = collector();
    constexpr std::uint32_t kRequests = 40;
    auto const begin_ns = base::monotonic_ns();
    for (std::uint32_t i = 0; i < kRequests; ++i)
        ASSERT_EQ(client.ask(Get{kFirst + 100 * i, kRun, 100, kAll, 0}).states(), std::string(100, 'c'));
    bool const has_pacing = !server->address().starts_with("unix:");
    if (has_pacing) EXPECT_GT(base::monotonic_ns() - begin_ns, 100'000'000u);
}

} // namespace
} // namespace thalweg::readout
