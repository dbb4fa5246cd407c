#include <array>
#include <atomic>
#include <optional>
#include <vector>

#include "thalweg/readout/server/testing.h"

namespace thalweg::readout {
namespace {

using namespace std::chrono_literals;

class ServerRun : public ServerTest {};

INSTANTIATE_TEST_SUITE_P(Flattened, ServerRun, testing::Values(Way::flattened));
INSTANTIATE_TEST_SUITE_P(Scattered, ServerRun, testing::Values(Way::scattered));
INSTANTIATE_TEST_SUITE_P(Local, ServerRun, testing::Values(Way::local));
INSTANTIATE_TEST_SUITE_P(Memory, ServerRun, testing::Values(Way::memory));

TEST_P(ServerRun, AtTheEndOfARunTakersGetEverythingAndAreToldSo) {
    start();
    ring->add(10);
    auto alice = collector(1), bob = collector(2);
    alice.ask(Take{.count = 6});
    bob.get({kFirst + 9, kRun, 3, kAll, 60'000});
    EXPECT_FALSE(bob.has_answer(20));
    server->end_run();
    EXPECT_EQ(bob.receive().states(), "caa") << "what never came is absent now";
    auto taken = bob.ask(Take{.count = 10, .min_count = 10});
    EXPECT_EQ(taken.count, 3u) << "the last event is his already, by asking for it";
    EXPECT_EQ(taken.ended, 0u);
    EXPECT_EQ(bob.ask(Take{.count = 10}).ended, 0u) << "Alice may still die";
    EXPECT_EQ(alice.ask(Take{.count = 10, .deadline_ms = 10}).ended, 0u) << "so may Bob";
    EXPECT_FALSE(server->wait_until_cleared(1'000'000));
    EXPECT_TRUE(alice.ask(Clear{kFirst, kRun, 6}));
    taken = bob.ask(Take{.count = 10, .deadline_ms = 20'000});
    EXPECT_EQ(taken.ended, 1u);
    EXPECT_TRUE(bob.ask(Clear{kFirst + 6, kRun, 6}));
    EXPECT_TRUE(server->wait_until_cleared(20'000'000'000));
}

TEST_P(ServerRun, WhatLiesBehindTheEndOfARunIsSaidToBeSoAndHoldsNothingUp) {
    start();
    ring->add(10);
    auto alice = collector(1);
    EXPECT_EQ(alice.ask(Take{.count = 8, .deadline_ms = 10}).is_over, 0u);
    alice.get({kFirst + 8, kRun, 8, kAll, 60'000}); // and owns six events that will never be there
    EXPECT_FALSE(alice.has_answer(20));
    server->end_run();
    auto const answer = alice.receive();
    EXPECT_EQ(answer.states(), "ccaaaaaa");
    auto const records = answer.records();
    for (std::size_t i = 0; i < records.size(); ++i) EXPECT_EQ(records[i].is_behind_end, i < 2 ? 0 : 1) << i;
    EXPECT_EQ(alice.ask(Get{kFirst + 100, kRun, 3, kAll, 0}).records()[2].is_behind_end, 1);
    auto const taken = alice.ask(Take{.count = 10, .deadline_ms = 20'000});
    EXPECT_EQ(taken.is_over, 1u);
    EXPECT_EQ(taken.ended, 1u);
    EXPECT_TRUE(alice.ask(Clear{kFirst, kRun, 8}));
    EXPECT_FALSE(server->wait_until_cleared(1'000'000)) << "two events are hers";
    EXPECT_TRUE(alice.ask(Clear{kFirst + 8, kRun, 8}));
    EXPECT_TRUE(alice.ask(Clear{kFirst + 100, kRun, 3})) << "there is nothing to clear";
    EXPECT_TRUE(server->wait_until_cleared(20'000'000'000));
}

TEST_P(ServerRun, AnotherRunRefusesWhatWasAskedOfTheOneBefore) {
    start();
    auto client = collector(1);
    client.get({kFirst, kRun, 3, kAll, 60'000}, 1);
    client.take({.count = 3, .deadline_ms = 60'000}, 2); // of any run
    EXPECT_TRUE(becomes("pending_requests", 2));
    TestRing other(kFirst);
    Index other_index({&other.ring});
    server->begin_run(kRun + 1, other_index, 1, 512);
    auto const refused = client.receive();
    EXPECT_EQ(refused.head.tag, 1u);
    EXPECT_EQ(refused.as<Refused>().why, Refusal::wrong_run);
    other.add(5);
    auto const taken = client.receive().as<Taken>();
    EXPECT_EQ(taken.run, kRun + 1);
    EXPECT_EQ(taken.count, 3u);
    server->forget_run();
    EXPECT_EQ(client.ask(Get{kFirst, kRun + 1, 3, kAll, 0}).sentence(), "dh0 has no run 8: none was started yet");
    EXPECT_EQ(client.ask(Take{.count = 1}).run, 0u);
}

TEST_P(ServerRun, WhoNeverClearsHoldsUpTheEndOnlyForAsLongAsTheServerWaits) {
    start();
    ring->add(10);
    auto alice = collector(1), bob = collector(2);
    alice.ask(Take{.count = 10});
    server->end_run();
    EXPECT_EQ(bob.ask(Take{.count = 10, .deadline_ms = 20}).ended, 0u);
    bob.take({.count = 10, .deadline_ms = 60'000});
    EXPECT_FALSE(server->wait_until_cleared(20'000'000));
    EXPECT_EQ(bob.receive().as<Taken>().ended, 1u);
}

TEST_P(ServerRun, WhoAskedForEventsIsToldOfTheEndBeforeTheServerMayGo) {
    start();
    ring->add(10);
    auto alice = collector(1);
    auto bob = std::make_optional(collector(2));
    EXPECT_EQ(alice.ask(Take{.count = 10}).count, 10u);
    EXPECT_EQ(bob->ask(Take{.count = 10, .deadline_ms = 1}).count, 0u);
    EXPECT_TRUE(alice.ask(Clear{kFirst, kRun, 10}));
    server->end_run();
    EXPECT_TRUE(server->wait_until_cleared(20'000'000'000));
    EXPECT_FALSE(server->wait_until_told(20'000'000)) << "neither has a request that could be answered";
    EXPECT_EQ(alice.ask(Take{.count = 10}).ended, 1u);
    EXPECT_FALSE(server->wait_until_told(20'000'000)) << "Bob has none";
    bob.reset();
    EXPECT_TRUE(server->wait_until_told(20'000'000'000)) << "a client that has gone is not waited for";
}

TEST_P(ServerRun, SamplesSayHowLongRequestsTook) {
    start();
    ring->add(10);
    auto client = collector();
    for (int i = 0; i < 5; ++i) client.ask(Get{kFirst, kRun, 1, kAll, 0});
    client.ask(Get{kFirst + 10, kRun, 1, kAll, 20});
    EXPECT_TRUE(becomes("request_seconds_count", 6));
    double below = 0, seconds = 0;
    for (auto const& it : server->samples()) {
        if (it.name == "thalweg_readout_request_seconds_sum") seconds = it.value;
        if (it.name.starts_with("thalweg_readout_request_seconds")) {
            EXPECT_EQ(it.kind, trace::Sample::Kind::histogram) << it.name;
        }
        if (it.name != "thalweg_readout_request_seconds_bucket") continue;
        EXPECT_GE(it.value, below) << "buckets are cumulative";
        below = it.value;
        if (it.labels.at(0).second == "0.016777216") {
            EXPECT_LE(it.value, 5);
        }
    }
    EXPECT_EQ(below, 6);
    EXPECT_GE(seconds, 0.02);
    EXPECT_GT(server->cpu_ns(), 0u);
    EXPECT_TRUE(soon([&] {
        return sample("sent_bytes_total") + sample("memory_bytes_total") == static_cast<double>(server->bytes_sent());
    }));
}

TEST_P(ServerRun, EvictedEventsAreAnsweredAsSuch) {
    start(64);
    ring->add(64);
    ring->ring.evict_before(32);
    auto client = collector();
    EXPECT_EQ(client.ask(Get{kFirst + 30, kRun, 4, kAll, 0}).states(), "eecc");
    EXPECT_EQ(client.ask(Take{.count = 4}).first, kFirst + 34) << "the client that asks for events has them";
    EXPECT_TRUE(becomes("answered_events_total", 2, "evicted"));
}

// A builder runs in its own thread, four collectors ask at random, and an observer samples: every event is taken
// exactly once.
TEST_P(ServerRun, EveryEventGoesToOneCollectorWhileTheRunGoesOn) {
    start(256);
    constexpr std::uint64_t kEvents = 20'000;
    std::thread builder([&] {
        for (std::uint64_t i = 0; i < kEvents; ++i) {
            while (!ring->has_room()) std::this_thread::sleep_for(20us);
            ring->add(1, static_cast<std::uint32_t>(i % 400));
        }
        server->end_run();
    });
    std::vector<std::atomic<int>> seen(kEvents);
    std::atomic<bool> done = false;
    auto const collect = [&](std::uint64_t id) {
        auto client = collector(id);
        for (;;) {
            auto const taken = client.ask(Take{.count = 40, .deadline_ms = 100, .min_count = 4});
            if (taken.ended != 0) break;
            for (auto first = taken.first; taken.count > 0 && first < taken.first + taken.count;) {
                auto const left = static_cast<std::uint32_t>(taken.first + taken.count - first);
                auto const answer = client.ask(Get{first, kRun, left, 5000, 1000});
                std::size_t at = sizeof(EventsHead);
                for (auto const& record : answer.records()) {
                    EXPECT_EQ(record.state, EventState::complete);
                    seen[record.event - kFirst]++;
                    at += sizeof record + record.bytes;
                    if (record.bytes > sizeof(FragmentHeader)) {
                        EXPECT_EQ(std::to_integer<int>(answer.body[at - 1]), TestRing::byte_of(record.event));
                    }
                }
                first = answer.as<EventsHead>().next;
            }
            if (taken.count == 0) continue;
            EXPECT_TRUE(client.ask(Clear{taken.first, kRun, taken.count}));
        }
    };
    std::vector<std::thread> threads;
    for (std::uint64_t id = 1; id <= 4; ++id) threads.emplace_back(collect, id);
    std::thread watcher([&] {
        auto client = observer();
        for (std::uint64_t i = 0; !done; i = (i + 997) % kEvents)
            for (auto const& record : client.ask(Get{kFirst + i, kRun, 10, kAll, 1}).records())
                EXPECT_NE(record.state, EventState::incomplete);
    });
    builder.join();
    for (auto& thread : threads) thread.join();
    done = true;
    watcher.join();
    for (auto const& count : seen) ASSERT_EQ(count, 1);
    EXPECT_TRUE(server->wait_until_cleared(20'000'000'000));
}

} // namespace
} // namespace thalweg::readout
