#include "thalweg/felix/packet.h"

#include <gtest/gtest.h>
#include <vector>

namespace thalweg::felix {
namespace {

PacketHead head_of(std::uint32_t l1id, std::uint16_t elink) { return {l1id, elink, bcid_of(l1id)}; }

TEST(Packet, IsIntactAsItWasFilled) {
    for (std::uint32_t const size_bytes : {8u, 9u, 24u, 300u, 1500u}) {
        for (std::uint32_t offset = 0; offset + 8 <= size_bytes && offset < 20; ++offset) {
            std::vector<std::byte> packet(size_bytes);
            fill_packet(packet, offset, head_of(0x02000007, 300));
            ASSERT_TRUE(is_intact(packet, offset, 300));
            ASSERT_FALSE(is_intact(packet, offset, 301));
            PacketHead head;
            std::memcpy(&head, packet.data() + offset, sizeof head);
            ASSERT_EQ(head.l1id, 0x02000007u);
            for (std::uint32_t index = 0; index < size_bytes; ++index) {
                if (index >= offset && index < offset + 4) continue; // the L1ID: its change is another event
                packet[index] ^= std::byte{0x10};
                ASSERT_FALSE(is_intact(packet, offset, 300)) << index;
                packet[index] ^= std::byte{0x10};
            }
        }
    }
}

TEST(Packet, ThatWasCutShows) {
    std::vector<std::byte> packet(40);
    fill_packet(packet, 4, head_of(9, 5));
    for (std::size_t size_bytes = 0; size_bytes < packet.size(); ++size_bytes) {
        EXPECT_FALSE(is_intact(std::span(packet).first(size_bytes), 4, 5)) << size_bytes;
    }
}

TEST(Packet, BunchCrossingsGoRound) {
    EXPECT_EQ(bcid_of(0), 0);
    EXPECT_EQ(bcid_of(1), 40);
    EXPECT_EQ(bcid_of(90), 3600 - kBunchCrossings);
    EXPECT_LT(bcid_of(~0u), kBunchCrossings);
}

} // namespace
} // namespace thalweg::felix
