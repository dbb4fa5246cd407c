#include "thalweg/felix/card.h"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/felix/testing.h"

namespace thalweg::felix {
namespace {

using namespace testing;

std::vector<CardOptions> variants() {
    std::vector<CardOptions> all;
    for (auto const& format : {parse_format("abcd"), parse_format("abce"), parse_format("c0ce", 4096)}) {
        for (auto const* const sizes : {"24", "8-40", "13", "752", "8-3000"}) {
            auto options = some_options();
            options.format = format;
            options.sizes = parse_packet_sizes(sizes);
            options.events = 1501;
            all.push_back(options);
        }
    }
    all[1].l1id_offset = 0;
    all[3].l1id_offset = 333;
    all[4].events_per_ecr = 7; // ECR steps within blocks
    all[5].events_per_ecr = 1000;
    all[5].first_l1id = 0xFE0003E0;
    all[6].first_l1id = 0x00FFFF00;
    all[7].l1id_offset = 5;
    all[8].first_elink = 2043;
    all[9].buffers = 5;
    all[10].buffers = 2;
    all[11].buffer_bytes = 4096 * 251;
    all[12].buffer_bytes = 4096 * 1024;
    return all;
}

// Both ways send the same packets: each is compared with the functions that define them.
TEST(Card, SendsEveryPacketByStamping) {
    for (auto const& options : variants()) expect_all(options, run(options));
}

TEST(Card, SendsEveryPacketOneByOne) {
    for (auto options : variants()) {
        options.faults.error = 1e-18; // it never happens, but asks for the other way
        expect_all(options, run(options));
    }
}

TEST(Card, SendsSlowlyToo) {
    auto options = some_options();
    options.events = 60;
    options.event_rate_hz = 100; // slow enough for a card that now and then has no processor
    options.timeout_ns = 5'000'000;
    auto const begin_ns = base::monotonic_ns();
    auto const ran = run(options);
    EXPECT_GT(base::monotonic_ns() - begin_ns, 550'000'000u);
    expect_all(options, ran);
    EXPECT_GE(ran.tally[0].blocks, 4u); // of 36 packets each if nothing went early
}

TEST(Card, KeepsItsRate) {
    auto options = some_options();
    options.events = 20'000;
    options.event_rate_hz = 200'000;
    auto const begin_ns = base::monotonic_ns();
    expect_all(options, run(options));
    EXPECT_GT(base::monotonic_ns() - begin_ns, 95'000'000u);
}

TEST(Card, WaitsForItsReaderAndOverwritesNothing) {
    auto options = some_options();
    options.buffer_bytes = 64 << 10;
    options.events = 20'000;
    Card card(options);
    std::thread thread([&] { card.run(); });
    while (card.stall_ns() < 5'000'000) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(card.backlog_bytes(), options.buffer_bytes);
    CardReader reader(options);
    thread.join();
    reader.thread.join();
    EXPECT_GT(reader.buffers[0].card_stall_ns(), 4'000'000u);
    expect_all(options, {std::move(reader.links), card.tally()});
}

TEST(Card, StopsInWholeEvents) {
    for (double const error : {0.0, 1e-18}) {
        auto options = some_options();
        options.events = 0;
        options.event_rate_hz = 500'000;
        options.faults.error = error;
        Card card(options);
        CardReader reader(options);
        std::thread thread([&] { card.run(); });
        while (card.events_sent() < 5'000) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        card.stop();
        thread.join();
        reader.thread.join();
        options.events = card.events_sent();
        expect_all(options, {std::move(reader.links), card.tally()});
    }
}

TEST(Card, StopsThoughNoReaderReads) {
    for (double const error : {0.0, 1e-18}) {
        auto options = some_options();
        options.events = 0;
        options.buffer_bytes = 256 << 10;
        options.faults.error = error;
        Card card(options);
        std::thread thread([&] { card.run(); });
        while (card.stall_ns() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        auto const begin_ns = base::monotonic_ns();
        card.stop();
        thread.join();
        EXPECT_LT(base::monotonic_ns() - begin_ns, 20'000'000'000u);
        CardReader reader(options);
        reader.thread.join();
        for (auto const& tally : card.tally()) {
            EXPECT_EQ(tally.packets, reader.links[tally.elink].packets.size());
            EXPECT_EQ(tally.blocks, reader.links[tally.elink].blocks);
        }
    }
}

TEST(Card, BeatsFromTheBeginning) {
    auto const options = some_options();
    Card card(options);
    auto const reader = DmaReader::attach(dma_name(options.name, 0));
    auto const begin_ns = base::monotonic_ns();
    int beats = 0;
    for (std::uint64_t before = 0; beats < 3; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
        ASSERT_LT(base::monotonic_ns() - begin_ns, 20'000'000'000u) << beats << " beats";
        auto const age_ns = reader.heartbeat_age_ns();
        beats += age_ns < before ? 1 : 0; // a beat that there is no other after only grows older
        before = age_ns;
    }
    EXPECT_FALSE(reader.stopped());
    EXPECT_THROW(Card{options}, base::UsageError);
}

TEST(Card, RefusesWhatCannotBe) {
    auto const refused = [](auto change) {
        auto options = some_options();
        change(options);
        EXPECT_THROW(validate(options), base::UsageError);
        EXPECT_THROW(Card{options}, base::UsageError);
    };
    EXPECT_NO_THROW(validate(some_options()));
    refused([](auto& it) { it.name = "a/b"; });
    refused([](auto& it) { it.name = ""; });
    refused([](auto& it) { it.elinks = 0; });
    refused([](auto& it) { it.first_elink = 2044; });
    refused([](auto& it) { it.elinks = ~0u; });
    refused([](auto& it) { it.buffers = 0; });
    refused([](auto& it) { it.buffers = 6; });
    refused([](auto& it) { it.buffer_bytes = 0; });
    refused([](auto& it) { it.buffer_bytes = 1500; });
    refused([](auto& it) { it.format.block_bytes = 2048; });
    refused([](auto& it) { it.sizes = {7, 7}; });
    refused([](auto& it) { it.sizes = {30, 20}; });
    refused([](auto& it) { it.l1id_offset = 17; });
    refused([](auto& it) { it.l1id_offset = ~0u; });
    refused([](auto& it) { it.event_rate_hz = -1; });
    refused([](auto& it) { it.events_per_ecr = 1u << 25; });
    refused([](auto& it) { it.events_per_ecr = it.first_l1id = 5; });
    EXPECT_THROW(parse_packet_sizes("x"), base::UsageError);
    EXPECT_THROW(parse_packet_sizes("8-"), base::UsageError);
    EXPECT_THROW(parse_packet_sizes("40-8"), base::UsageError);
    EXPECT_THROW(parse_packet_sizes("24 "), base::UsageError);
}

} // namespace
} // namespace thalweg::felix
