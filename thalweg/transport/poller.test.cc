#include "thalweg/transport/poller.h"

#include <gtest/gtest.h>
#include <set>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"

namespace thalweg::transport {
namespace {

struct Sockets {
    Sockets() {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return;
        left = base::FileDescriptor(ends[0]);
        right = base::FileDescriptor(ends[1]);
    }
    base::FileDescriptor left, right;
};

TEST(Poller, TellsWhoCanReadAndWrite) {
    Sockets sockets;
    Poller poller;
    poller.add(sockets.left.get(), 7);
    EXPECT_TRUE(poller.wait(0).empty());
    ASSERT_EQ(::write(sockets.right.get(), "x", 1), 1);
    for (int i = 0; i < 2; ++i) { // told again until it was read
        auto const ready = poller.wait(base::kSecondNs);
        ASSERT_EQ(ready.size(), 1u);
        EXPECT_EQ(ready[0].key, 7u);
        EXPECT_TRUE(ready[0].readable && !ready[0].writable && !ready[0].broken);
    }
    poller.change(sockets.left.get(), 8, false, true);
    auto const ready = poller.wait(base::kSecondNs);
    ASSERT_EQ(ready.size(), 1u);
    EXPECT_EQ(ready[0].key, 8u);
    EXPECT_TRUE(!ready[0].readable && ready[0].writable);
    poller.remove(sockets.left.get());
    EXPECT_TRUE(poller.wait(0).empty());
}

TEST(Poller, TellsOfAHangUp) {
    Sockets sockets;
    Poller poller;
    poller.add(sockets.left.get(), 1, false, false);
    sockets.right.reset();
    auto const ready = poller.wait(base::kSecondNs);
    ASSERT_EQ(ready.size(), 1u);
    EXPECT_TRUE(ready[0].broken);
}

TEST(Poller, ForgetsWhatIsClosed) {
    Sockets sockets;
    Poller poller;
    poller.add(sockets.left.get(), 1);
    ASSERT_EQ(::write(sockets.right.get(), "x", 1), 1);
    sockets.left.reset();
    EXPECT_TRUE(poller.wait(0).empty());
}

TEST(Poller, TakesTurnsWhereMoreAreReadyThanItTellsAtOnce) {
    std::vector<Sockets> many(400);
    Poller poller;
    for (std::size_t i = 0; i < many.size(); ++i) poller.add(many[i].left.get(), i, false, true);
    std::set<std::uint64_t> told;
    for (int i = 0; i < 3; ++i) {
        for (auto const& ready : poller.wait(0)) told.insert(ready.key);
    }
    EXPECT_EQ(told.size(), many.size());
}

TEST(Poller, WaitsAsLongAsItWasTold) {
    Poller poller;
    for (std::uint64_t const wait_ns : {50'000ull, 3'000'000ull}) {
        auto const begin_ns = base::monotonic_ns();
        EXPECT_TRUE(poller.wait(wait_ns).empty());
        auto const took_ns = base::monotonic_ns() - begin_ns;
        EXPECT_GE(took_ns, wait_ns);
        EXPECT_LT(took_ns, 20 * base::kSecondNs);
    }
}

TEST(Poller, IsWokenFromAnotherThreadOnce) {
    Poller poller;
    std::thread waker([&] { poller.wake(); });
    auto const begin_ns = base::monotonic_ns();
    EXPECT_TRUE(poller.wait(60 * base::kSecondNs).empty());
    EXPECT_LT(base::monotonic_ns() - begin_ns, 30 * base::kSecondNs);
    waker.join();
    auto const again_ns = base::monotonic_ns();
    poller.wait(2'000'000);
    EXPECT_GE(base::monotonic_ns() - again_ns, 2'000'000u) << "a wake counts once";
}

TEST(Poller, ADescriptorThatIsNoneIsAnError) {
    Poller poller;
    EXPECT_THROW(poller.add(-1, 0), base::SystemError);
    EXPECT_THROW(poller.remove(100'000), base::SystemError);
}

} // namespace
} // namespace thalweg::transport
