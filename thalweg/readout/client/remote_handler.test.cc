// How much a client asks a handler for: its share of the credit, also where the handler has not said how large an event
// may be.
#include <gtest/gtest.h>

#include "thalweg/readout/client/remote_handler.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kShare = 8 << 10;
constexpr double kEventBytes = 1172;

TEST(RemoteHandler, AHandlerThatWasGreetedBeforeItsRunIsAskedForItsShare) {
    RemoteHandler handler;
    handler.event_bytes = kEventBytes;
    ASSERT_EQ(handler.welcome.max_fragment_bytes, 0u) << "there was no run to say it of";
    EXPECT_LE(handler.bytes_to_ask(16, kShare), kShare) << "else one answer takes up the credit of several handlers";
    EXPECT_GT(handler.bytes_to_ask(16, kShare), kShare / 2);
}

TEST(RemoteHandler, OneEventFitsAlsoIfItIsTwiceAsLargeAsUsual) {
    RemoteHandler handler;
    handler.event_bytes = kEventBytes;
    EXPECT_GE(handler.bytes_to_ask(1, 1), static_cast<std::uint64_t>(2 * kEventBytes));
    handler.welcome.max_fragment_bytes = 10'000;
    EXPECT_GE(handler.bytes_to_ask(1, 1), 10'000u);
}

TEST(RemoteHandler, BeforeItsFirstAnswerAnEventMayBeLarge) {
    EXPECT_GE(RemoteHandler().bytes_to_ask(16, kShare), 64u << 10);
}

} // namespace
} // namespace thalweg::readout
