#include <gtest/gtest.h>

#include "thalweg/felix/card.h"
#include "thalweg/felix/decoder.h"
#include "thalweg/felix/testing.h"

namespace thalweg::felix {
namespace {

using namespace testing;

FaultOptions const kManyFaults = parse_faults("all=4e-3,dead_link=1e-3,stuck_pointer=0");

CardOptions faulty_options() {
    auto options = some_options();
    options.events = 20'000;
    options.faults = kManyFaults;
    options.faults.dead_events = 300;
    options.faults.late_events = 100;
    return options;
}

TEST(CardWithFaults, TallyIsWhatAReaderSees) {
    for (auto const& format : {parse_format("abcd"), parse_format("abce"), parse_format("c0ce", 2048)}) {
        for (auto const* const sizes : {"24", "8-40", "300-2500"}) {
            auto options = faulty_options();
            options.format = format;
            options.sizes = parse_packet_sizes(sizes);
            options.events = options.sizes.max_bytes > 100 ? 4000 : 20'000;
            auto const ran = run(options);
            for (auto const& tally : ran.tally) {
                auto const& link = ran.links.at(tally.elink);
                auto const& faults = tally.faults;
                auto const with = [&](std::uint32_t flag) {
                    return static_cast<std::uint64_t>(std::ranges::count_if(
                        link.packets, [&](Got const& packet) { return (packet.flags & flag) != 0; }));
                };
                EXPECT_EQ(tally.packets, link.packets.size());
                EXPECT_EQ(tally.blocks, link.blocks);
                EXPECT_EQ(faults.garbage_blocks, link.bad_blocks);
                EXPECT_LE(link.lost_blocks, faults.lost_blocks);
                EXPECT_TRUE(faults.undetectable > 0 || link.lost_blocks == faults.lost_blocks);
                auto const sent = tally.events - faults.missing + faults.duplicated;
                EXPECT_EQ(sent, tally.packets + faults.packets_in_lost_blocks);
                // A flagged packet that was not destroyed arrives with its flag; one lost block takes many packets with
                // it.
                EXPECT_LE(with(Trailer::kCrc), faults.crc);
                EXPECT_GE(with(Trailer::kCrc) + faults.packets_in_lost_blocks, faults.crc);
                EXPECT_LE(with(Trailer::kTruncated), faults.truncated);
                EXPECT_GE(with(Trailer::kTruncated) + faults.packets_in_lost_blocks, faults.truncated);
                EXPECT_LE(with(Trailer::kBusy), faults.busy);
                EXPECT_EQ(faults.busy == 0, format.trailer_bytes == 2);
                EXPECT_LE(faults.undetectable, faults.packets_in_lost_blocks);
                // A packet without a flag is correct.
                for (auto const& packet : link.packets) {
                    ASSERT_TRUE((packet.flags & ~Trailer::kBusy) != 0 || is_intact(packet.bytes, 0, tally.elink));
                }
            }
        }
    }
}

FaultTally sum_of(std::vector<LinkTally> const& tallies) {
    FaultTally sum;
    for (auto const& [elink, events, packets, blocks, faults] : tallies) {
        sum.missing += faults.missing;
        sum.late += faults.late;
        sum.duplicated += faults.duplicated;
        sum.swapped += faults.swapped;
        sum.truncated += faults.truncated;
        sum.crc += faults.crc;
        sum.error += faults.error;
        sum.busy += faults.busy;
        sum.lost_blocks += faults.lost_blocks;
        sum.garbage_blocks += faults.garbage_blocks;
        sum.dead_times += faults.dead_times;
        sum.undetectable += faults.undetectable;
    }
    return sum;
}

TEST(CardWithFaults, EachComesAsOftenAsAskedFor) {
    auto const options = faulty_options();
    auto const ran = run(options);
    auto const sum = sum_of(ran.tally);
    for (auto const count :
         {sum.missing, sum.late, sum.duplicated, sum.swapped, sum.truncated, sum.crc, sum.error, sum.busy}) {
        EXPECT_NEAR(static_cast<double>(count), 4e-3 * 5 * 20'000 * 0.95, 80) << count; // 5 % of the time is dead
    }
    EXPECT_GT(sum.lost_blocks, 32u);
    EXPECT_GT(sum.garbage_blocks, 2u);
    EXPECT_GT(sum.dead_times, 10u);
    EXPECT_GT(sum.undetectable, 32 * 30u);
}

TEST(CardWithFaults, AreAFunctionOfTheSeed) {
    auto options = faulty_options();
    options.timeout_ns = 0; // the clock decides on timeouts
    auto const one = run(options);
    options.name += "-again";
    auto const again = run(options);
    ASSERT_EQ(one.links.size(), again.links.size());
    for (auto const& [elink, link] : one.links) EXPECT_EQ(link.packets, again.links.at(elink).packets);
    options.name += "-other";
    options.seed = 2;
    auto const other = run(options);
    EXPECT_NE(one.links.at(0).packets, other.links.at(0).packets);
}

// Each test has only this fault, so that its effect shows.
TEST(CardWithFaults, OrderOfEvents) {
    auto options = some_options();
    options.elinks = 1;
    options.events = 3000;
    options.faults = parse_faults("late=0.01,swapped=0.01,duplicated=0.01");
    options.faults.late_events = 50;
    auto const ran = run(options);
    FaultTally seen;
    std::map<std::uint32_t, std::uint64_t> times;
    std::uint32_t newest = 0;
    for (auto const& packet : ran.links.at(0).packets) {
        std::uint32_t l1id;
        std::memcpy(&l1id, packet.bytes.data(), sizeof l1id);
        seen.duplicated += times[l1id]++ > 0;
        seen.swapped += times[l1id] == 1 && l1id + 1 == newest;
        seen.late += times[l1id] == 1 && l1id + 1 < newest;
        newest = std::max(newest, l1id);
    }
    EXPECT_EQ(times.size(), options.events);
    EXPECT_EQ(seen.duplicated, ran.tally[0].faults.duplicated);
    EXPECT_NEAR(static_cast<double>(seen.swapped), static_cast<double>(ran.tally[0].faults.swapped), 3);
    EXPECT_NEAR(static_cast<double>(seen.late), static_cast<double>(ran.tally[0].faults.late), 3);
}

// Two readers that share no code are compared with the tally of the card.
TEST(CardWithFaults, DecoderSeesTheTallyToo) {
    for (auto const& format : {parse_format("abcd"), parse_format("c0ce"), parse_format("c0ce", 8192)}) {
        for (auto const* const sizes : {"24", "8-40", "300-2500"}) {
            auto options = faulty_options();
            options.elinks = 3;
            options.format = format;
            options.sizes = parse_packet_sizes(sizes);
            options.events = 4000;
            options.buffer_bytes = 32 << 20; // holds it all
            Card card(options);
            card.run();
            auto buffer = DmaReader::attach(dma_name(options.name, 0));
            std::map<std::uint16_t, StreamDecoder> decoders;
            std::map<std::uint16_t, LinkReader> readers;
            for (std::uint64_t position = 0; position < buffer.published(position); ++position) {
                auto const* const block = buffer.block(position);
                auto const elink = BlockHeader::parse(block).elink;
                auto& reader = readers[elink];
                auto const known = reader.packets.size();
                reader.read(format, block);
                auto const packets = decoders.try_emplace(elink, format).first->second.decode(block);
                ASSERT_EQ(packets.size(), reader.packets.size() - known) << position;
                for (std::size_t index = 0; index < packets.size(); ++index) {
                    auto const& expected = reader.packets[known + index];
                    ASSERT_TRUE(
                        std::ranges::equal(std::span(packets[index].data, packets[index].size_bytes), expected.bytes));
                    ASSERT_EQ(packets[index].flags, expected.flags);
                }
            }
            for (auto const& tally : card.tally()) {
                auto const& counters = decoders.at(tally.elink).counters();
                EXPECT_EQ(counters.packets.get(), tally.packets);
                EXPECT_EQ(counters.blocks.get(), tally.blocks);
                EXPECT_EQ(counters.bad_blocks.get(), tally.faults.garbage_blocks);
                EXPECT_EQ(counters.lost_blocks.get(), readers.at(tally.elink).lost_blocks);
            }
        }
    }
}

TEST(CardWithFaults, PointersThatLieLoseNothing) {
    auto options = some_options();
    options.event_rate_hz = 100'000;
    options.faults = parse_faults("stuck_pointer=2e-3");
    options.faults.stuck_ns = 3'000'000;
    auto const ran = run(options);
    expect_all(options, ran);
    EXPECT_GT(ran.bad_pointers, 0u);
}

} // namespace
} // namespace thalweg::felix
