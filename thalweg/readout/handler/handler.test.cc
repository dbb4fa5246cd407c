// Tests a card, a handler and a client in one process: the whole way of a packet, with and without faults.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <thread>
#include <unistd.h>
#include <utility>

#include "thalweg/base/error.h"
#include "thalweg/felix/card.h"
#include "thalweg/felix/packet.h"
#include "thalweg/readout/client/client.h"
#include "thalweg/readout/handler/handler.h"
#include "thalweg/readout/handler/test_running_card.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

std::string unique_name() {
    static int count = 0;
    return fmt::format("test{}-{}", ::getpid(), count++);
}

felix::CardOptions card_options(std::uint32_t elinks, std::uint64_t events) {
    felix::CardOptions options;
    options.name = unique_name();
    options.elinks = elinks;
    options.events = events;
    options.buffer_bytes = 4 << 20;
    return options;
}

HandlerConfig handler_config(felix::CardOptions const& card, std::uint32_t streams_of_group) {
    HandlerConfig config;
    config.buffer = felix::dma_name(card.name, 0);
    config.server.listen = "127.0.0.1:0";
    config.server.outstanding_events = 4096;
    config.index.events = 1 << 15;
    config.index.close_after_ns = config.index.dead_after_ns = 20 * kSecond; // a busy machine is no dead link
    for (std::uint32_t elink = 0; elink < card.elinks; ++elink) {
        if (elink % streams_of_group == 0) config.groups.push_back({.source_id = 0x100 + elink, .elinks = {}});
        config.groups.back().elinks.push_back(static_cast<std::uint16_t>(elink));
    }
    return config;
}

// Returns whether a condition becomes true, however slow the machine is.
template <class Condition> bool soon(Condition const& condition) {
    for (int i = 0; i < 6000; ++i) {
        if (condition()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

// The events that a checking client has got.
struct Seen {
    std::uint64_t events = 0, fragments = 0, payloads = 0, wrong = 0;
    std::map<std::uint64_t, int> times; // an event was handed on
};

// Checks that every payload belongs to its event and e-link, and is complete unless the fragment reports a problem.
void check(Event const& event, HandlerConfig const& config, Seen& seen) {
    ++seen.events;
    ++seen.times[event.event];
    for (auto const& fragment : event.fragments) {
        ++seen.fragments;
        auto const& header = fragment.header();
        auto const marked = header.status & (kCrcError | kPacketError | kTruncated | kOverflow);
        for (auto const& group : config.groups) {
            if (group.source_id != header.source_id) continue;
            for (std::uint32_t stream = 0; stream < group.elinks.size(); ++stream) {
                if ((header.stream_map >> stream & 1) == 0) continue;
                ++seen.payloads;
                auto const payload = fragment.payload(stream);
                felix::PacketHead head;
                if (payload.size() >= sizeof head) std::memcpy(&head, payload.data(), sizeof head);
                bool const right = felix::is_intact(payload, 0, group.elinks[stream]) &&
                                   head.l1id == static_cast<std::uint32_t>(event.event);
                if (!right && marked == 0) ++seen.wrong;
            }
        }
        bool const complete = header.stream_map == header.enabled_map;
        if (complete != ((header.status & kIncomplete) == 0)) ++seen.wrong;
    }
}

// Collects until the run has ended.
Seen collect(HandlerConfig const& config, std::string const& address) {
    Seen seen;
    Client client({.handlers = {address}});
    client.run({.event = [&](Event const& event) { check(event, config, seen); },
                .end_of_range = [&](RangeId const& range) { client.commit(range); },
                .idle = {}});
    client.settle(20 * kSecond);
    seen.wrong += client.counters().wrong;
    return seen;
}

// Collects while the card runs, until the card has sent everything and the handler has stopped.
Seen collect_all(HandlerConfig const& config, Handler& handler, RunningCard& card) {
    Seen seen;
    std::jthread collector([&] { seen = collect(config, handler.address()); });
    card.join();
    handler.stop(60 * kSecond);
    collector.join();
    return seen;
}

void expect_balance(Handler::Report const& report, std::vector<felix::LinkTally> const& tally) {
    EXPECT_TRUE(report.balances());
    EXPECT_EQ(report.lost(), 0u);
    for (auto const& group : report.groups) {
        EXPECT_EQ(group.cleared, group.built());
        for (auto const& stream : group.streams) {
            EXPECT_EQ(stream.packets, tally[stream.elink].packets) << "e-link " << stream.elink;
        }
    }
}

TEST(Handler, EveryEventOfAGoodCardArrivesWholeAndOnce) {
    auto const options = card_options(28, 50'000);
    auto const config = handler_config(options, 14);
    RunningCard card(options);
    Handler handler(config);
    handler.configure();
    handler.start(42, 60 * kSecond);
    auto const seen = collect_all(config, handler, card);
    EXPECT_EQ(seen.wrong, 0u);
    EXPECT_EQ(seen.events, 50'000u);
    EXPECT_EQ(seen.payloads, 28 * 50'000u);
    EXPECT_EQ(seen.times.size(), 50'000u);
    EXPECT_EQ(seen.times.begin()->first, std::uint64_t{1} << 32);
    expect_balance(handler.report(), card.card.tally());
    for (auto const& group : handler.report().groups) {
        EXPECT_EQ(group.complete, 50'000u);
        EXPECT_EQ(group.incomplete + group.absent, 0u);
    }
}

TEST(Invariant7, WhatNoClientHasFetchedWhenTheRunIsOverIsDiscardedAndSaid) {
    auto const options = card_options(28, 2000);
    auto const config = handler_config(options, 14);
    RunningCard card(options);
    Handler handler(config);
    handler.configure();
    handler.start(1, 60 * kSecond);
    EXPECT_TRUE(soon([&] { return handler.report().groups[1].kept > 0; }));
    card.join();
    handler.stop(kSecond / 10);
    auto const report = handler.report();
    for (auto const& group : report.groups) {
        EXPECT_EQ(group.built(), 2000u);
        EXPECT_EQ(group.discarded, 2000u);
        EXPECT_EQ(group.cleared + group.evicted + group.skipped + group.kept, 0u);
    }
    EXPECT_TRUE(report.balances());
    EXPECT_EQ(report.lost(), 4000u);
    for (auto const& sample : handler.samples()) {
        if (sample.name != "thalweg_readout_fragments_discarded_total") continue;
        EXPECT_EQ(sample.value, 4000);
    }
    auto const seen = collect(config, handler.address());
    EXPECT_EQ(seen.events, 2000u) << "a later client still gets them";
    EXPECT_EQ(handler.report().lost(), 0u);
    EXPECT_EQ(handler.report().groups[0].cleared, 2000u);
}

TEST(Handler, RelaysWholeFragmentsOfItsLinks) {
    auto options = card_options(4, 5'000);
    options.sizes = {752, 752};
    auto config = handler_config(options, 1);
    for (auto& group : config.groups) group.mode = Mode::relay;
    RunningCard card(options);
    Handler handler(config);
    handler.configure();
    handler.start(1, 60 * kSecond);
    auto const seen = collect_all(config, handler, card);
    EXPECT_EQ(seen.wrong, 0u);
    EXPECT_EQ(seen.payloads, 4 * 5'000u);
}

TEST(Handler, GoesThroughTheStatesOfRunControl) {
    auto options = card_options(4, 0);
    options.event_rate_hz = 10'000;
    auto const config = handler_config(options, 4);
    RunningCard card(options);
    Handler handler(config);
    EXPECT_EQ(handler.state(), ReadoutState::initial);
    EXPECT_THROW(handler.start(1, 0), base::UsageError);
    handler.configure();
    EXPECT_NE(handler.not_ready(), "");
    handler.start(1, 60 * kSecond);
    EXPECT_EQ(handler.not_ready(), "");
    auto const newest = [&] { return handler.report().groups[0].newest_event; };
    EXPECT_TRUE(soon([&] { return handler.report().groups[0].complete > 0; }));
    handler.pause();
    std::uint64_t paused = 0;
    EXPECT_TRUE(soon([&] { // the threads that build have seen it
        auto const before = std::exchange(paused, newest());
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        return before == paused;
    }));
    EXPECT_EQ(newest(), paused);
    handler.resume();
    EXPECT_TRUE(soon([&] { return newest() > paused; }));
    handler.stop(0);
    EXPECT_EQ(handler.state(), ReadoutState::stopped);
    EXPECT_TRUE(handler.report().balances());
    handler.configure();
    handler.start(2, 60 * kSecond);
    EXPECT_EQ(handler.run(), 2u);
    EXPECT_TRUE(soon([&] { return handler.report().groups[0].complete > 0; }));
    EXPECT_FALSE(handler.samples().empty());
}

TEST(Handler, SaysThatThereIsNoCard) {
    auto const config = handler_config(card_options(4, 0), 4);
    Handler handler(config);
    handler.configure();
    EXPECT_THROW(handler.start(1, kSecond / 10), base::SystemError);
    EXPECT_EQ(handler.state(), ReadoutState::configured);
}

TEST(Rule3FullIndex, TheCardStallsWhileNoClientClears) {
    auto const options = card_options(4, 100'000);
    auto const config = handler_config(options, 4);
    RunningCard card(options);
    Handler handler(config);
    handler.configure();
    handler.start(1, 60 * kSecond);
    EXPECT_TRUE(soon([&] { return handler.report().builder.busy_ns > kSecond / 10; }));
    EXPECT_LT(handler.report().groups[0].complete, config.index.events);
    EXPECT_TRUE(soon([&] { return card.card.stall_ns() > 0; }));
    auto const seen = [&] {
        std::jthread stopper([&] {
            card.join();
            handler.stop(60 * kSecond);
        });
        return collect(config, handler.address());
    }();
    EXPECT_EQ(seen.events, 100'000u);
    EXPECT_EQ(seen.times.size(), 100'000u);
    EXPECT_EQ(seen.wrong, 0u);
    EXPECT_EQ(handler.report().groups[0].incomplete, 0u) << "while we stand still nothing grows old";
}

TEST(Rule5Restart, AHandlerThatComesBackGoesOnInTheSameNumbers) {
    auto options = card_options(14, 0);
    options.event_rate_hz = 100'000;
    auto const config = handler_config(options, 14);
    RunningCard card(options);
    std::uint64_t newest = 0;
    {
        Handler first(config);
        first.configure();
        first.start(1, 60 * kSecond);
        EXPECT_TRUE(soon([&] { return first.report().groups[0].complete > 1000; }));
        newest = first.report().groups[0].newest_event;
    } // gone without a word
    Handler second(config);
    second.configure();
    second.start(1, 60 * kSecond);
    EXPECT_TRUE(soon([&] { return second.report().groups[0].complete > 1000; }));
    auto const report = second.report();
    EXPECT_GT(report.groups[0].newest_event, newest);
    EXPECT_LT(report.groups[0].newest_event, newest + 1'000'000);
    EXPECT_LT(report.groups[0].incomplete, 200u) << "only where the streams begin at different events";
    second.stop(0);
    EXPECT_TRUE(second.report().balances());
}

TEST(Rule5Restart, ACardThatIsStartedAnewBeginsAnEpoch) {
    auto const options = card_options(14, 20'000);
    auto const config = handler_config(options, 14);
    Handler handler(config);
    handler.configure();
    Seen seen;
    std::jthread collector;
    for (int life = 0; life < 3; ++life) {
        RunningCard card(options);
        if (life == 0) {
            handler.start(1, 60 * kSecond);
            collector = std::jthread([&] { seen = collect(config, handler.address()); });
        }
        card.join();
        EXPECT_TRUE(soon([&] { return card.card.backlog_bytes() == 0; }));
    }
    handler.stop(60 * kSecond);
    collector.join();
    EXPECT_EQ(seen.events, 60'000u);
    EXPECT_EQ(seen.wrong, 0u);
    EXPECT_EQ(seen.times.rbegin()->first, (std::uint64_t{3} << 32) + 19'999);
}

TEST(Rule2Closing, AnIndexFullOfOpenEventsClosesThem) {
    // One link is silent for longer than the index is deep. Only time can close these events, so it must go on.
    auto options = card_options(4, 60'000);
    options.faults.dead_link = 1e-4;
    options.faults.dead_events = 50'000;
    auto config = handler_config(options, 4);
    config.index.close_after_ns = config.index.dead_after_ns = kSecond / 5;
    RunningCard card(options);
    Handler handler(config);
    handler.configure();
    handler.start(1, 60 * kSecond);
    auto const seen = collect_all(config, handler, card);
    EXPECT_EQ(seen.wrong, 0u);
    EXPECT_EQ(seen.times.size(), 60'000u);
    expect_balance(handler.report(), card.card.tally());
    EXPECT_GT(handler.report().groups[0].incomplete, 10'000u);
}

TEST(Rule5Restart, WhatTheOldCardWroteIsReadToItsEndBeforeTheNewOneBegins) {
    auto const options = card_options(4, 40'000); // more than the index holds
    auto const config = handler_config(options, 4);
    Handler handler(config);
    handler.configure();
    auto first = std::make_unique<RunningCard>(options);
    handler.start(1, 60 * kSecond);
    std::this_thread::sleep_for(std::chrono::milliseconds(300)); // no client collects: the index is full
    first->join();
    first.reset();
    RunningCard second(options);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    Seen seen;
    std::jthread collector([&] { seen = collect(config, handler.address()); });
    second.join();
    EXPECT_TRUE(soon([&] { return second.card.backlog_bytes() == 0; }));
    handler.stop(60 * kSecond);
    collector.join();
    EXPECT_EQ(seen.times.size(), 80'000u);
    EXPECT_EQ(seen.wrong, 0u);
}

// Events close by the distance of events here, so that a slow machine loses no more than a quick one.
TEST(Rule6Books, BalanceAfterMillionsOfPacketsWithEveryFault) {
    auto options = card_options(28, 360'000); // ten million packets
    options.sizes = {8, 40};
    options.events_per_ecr = 70'000;
    options.faults = felix::parse_faults("all=1e-4,dead_link=1e-5,stuck_pointer=1e-5");
    options.faults.stuck_ns = 2'000'000;
    options.faults.dead_events = 5000; // a link that falls silent is waited for, since time does not count
    auto config = handler_config(options, 14);
    config.index.events = 1 << 16;
    auto const memory = index_bytes(config);
    RunningCard card(options);
    Handler handler(config);
    handler.configure();
    handler.start(1, 60 * kSecond);
    auto const seen = collect_all(config, handler, card);
    auto const report = handler.report();
    expect_balance(report, card.card.tally());
    EXPECT_EQ(seen.wrong, 0u);
    for (auto const& [event, times] : seen.times) EXPECT_EQ(times, 1) << event;
    EXPECT_EQ(index_bytes(config), memory);
    std::uint64_t delivered = 0, damaged = 0;
    for (auto const& group : report.groups) {
        EXPECT_GT(group.complete, 300'000u);
        EXPECT_GT(group.incomplete, 100u);
        EXPECT_EQ(group.jumps, 5u);
        for (auto const& stream : group.streams) {
            delivered += stream.delivered;
            damaged += stream.sequence_gaps + stream.bad_blocks;
            EXPECT_GT(stream.late, 0u);
            EXPECT_GT(stream.duplicate, 0u);
        }
    }
    EXPECT_EQ(seen.payloads, delivered);
    EXPECT_GT(damaged, 28u);
    EXPECT_GT(report.builder.bad_pointers, 0u);
}

} // namespace
} // namespace thalweg::readout
