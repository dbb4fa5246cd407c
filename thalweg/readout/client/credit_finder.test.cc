// Finds the credit for links whose rate and delay are known: a queue with one server, without a thread or a socket.
#include <algorithm>
#include <deque>
#include <gtest/gtest.h>

#include "thalweg/readout/client/credit.h"
#include "thalweg/readout/client/credit_finder.h"

namespace thalweg::readout {
namespace {

struct Link {
    double bytes_per_ns;
    std::uint64_t delay_ns;
    std::uint64_t answer_bytes;
};

// A client that asks for answers of one size as its credit allows, over a link that sends one after the other.
class Simulation {
  public:
    Simulation(CreditFinder& finder, Link link) : finder_(finder), link_(link) {}

    Link& link() { return link_; }
    // Returns the goodput of this time, as a part of what the link can carry.
    double run(std::uint64_t duration_ns) {
        auto const end_ns = now_ns_ + duration_ns;
        std::uint64_t bytes = 0;
        while (now_ns_ < end_ns) {
            ask();
            auto const [sent_ns, arrives_ns] = on_their_way_.front();
            on_their_way_.pop_front();
            now_ns_ = arrives_ns;
            outstanding_ -= link_.answer_bytes;
            bytes += link_.answer_bytes;
            finder_.answered(link_.answer_bytes, sent_ns, now_ns_);
        }
        return static_cast<double>(bytes) / (static_cast<double>(duration_ns) * link_.bytes_per_ns);
    }
    // Returns the time that an answer waits in the queue of the link if all the credit is used.
    double queue_ns() const {
        auto const on_the_wire = static_cast<double>(link_.delay_ns) * link_.bytes_per_ns;
        return std::max(0.0, (static_cast<double>(finder_.credit_bytes()) - on_the_wire) / link_.bytes_per_ns);
    }

  private:
    struct Answer {
        std::uint64_t sent_ns, arrives_ns;
    };

    void ask() {
        while (outstanding_ == 0 || outstanding_ + link_.answer_bytes <= finder_.credit_bytes()) {
            auto const begins_ns = std::max(now_ns_ + link_.delay_ns, free_ns_);
            free_ns_ =
                begins_ns + static_cast<std::uint64_t>(static_cast<double>(link_.answer_bytes) / link_.bytes_per_ns);
            on_their_way_.push_back({now_ns_, free_ns_});
            outstanding_ += link_.answer_bytes;
        }
        finder_.wants_more();
    }

    CreditFinder& finder_;
    Link link_;
    std::deque<Answer> on_their_way_;
    std::uint64_t now_ns_ = 1, free_ns_ = 0, outstanding_ = 0;
};

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr Link kSlow{0.025, 100'000, 8 << 10};   // 200 Mb/s
constexpr Link kFast{12.5, 50'000, 64 << 10};    // 100 Gb/s
constexpr Link kFar{1.25, 10'000'000, 64 << 10}; // 10 Gb/s to another city

class CreditFinderOverLinks : public testing::TestWithParam<Link> {};

TEST_P(CreditFinderOverLinks, FillsTheLinkAndKeepsItsQueueShort) {
    CreditFinder finder(64 << 20);
    Simulation simulation(finder, GetParam());
    simulation.run(kSecond); // finds it
    EXPECT_GT(simulation.run(kSecond), 0.97);
    auto const answer_ns = static_cast<double>(GetParam().answer_bytes) / GetParam().bytes_per_ns;
    auto const least_ns = static_cast<double>(CreditFinder::kLeastBytes) / GetParam().bytes_per_ns;
    auto const shortest_ns = static_cast<double>(GetParam().delay_ns) + answer_ns;
    EXPECT_LT(simulation.queue_ns(), std::max(least_ns, 1.3 * shortest_ns + answer_ns));
}

INSTANTIATE_TEST_SUITE_P(All, CreditFinderOverLinks, testing::Values(kSlow, kFast, kFar));

TEST(CreditFinder, ALinkThatBecomesLongerIsFilledAgain) {
    CreditFinder finder(64 << 20);
    Simulation simulation(finder, kFast);
    simulation.run(kSecond);
    simulation.link().delay_ns *= 20;
    simulation.run(12 * kSecond); // the delay is measured anew after ten seconds
    EXPECT_GT(simulation.run(kSecond), 0.95);
}

TEST(CreditFinder, ALinkThatBecomesSlowerGetsNoLongQueue) {
    CreditFinder finder(64 << 20);
    Simulation simulation(finder, kFast);
    simulation.run(kSecond);
    simulation.link().bytes_per_ns /= 10;
    simulation.run(kSecond);
    EXPECT_GT(simulation.run(kSecond), 0.97);
    EXPECT_LT(simulation.queue_ns(), 300'000);
}

TEST(CreditFinder, FewEventsDoNotLowerIt) {
    CreditFinder finder(64 << 20);
    Simulation simulation(finder, kFast);
    simulation.run(kSecond);
    auto const found = finder.credit_bytes();
    auto now_ns = 3 * kSecond;
    for (int i = 0; i < 1000; ++i) { // an answer each millisecond, and no request waits
        now_ns += 1'000'000;
        finder.answered(64 << 10, now_ns - 60'000, now_ns);
    }
    EXPECT_EQ(finder.credit_bytes(), found);
}

TEST(CreditFinder, StaysBetweenItsBounds) {
    CreditFinder small(16 << 10), limited(100 << 10);
    EXPECT_EQ(small.credit_bytes(), 16u << 10);
    Simulation(limited, kFast).run(kSecond);
    EXPECT_EQ(limited.credit_bytes(), 100u << 10);
    Simulation(small, kSlow).run(kSecond);
    EXPECT_EQ(small.credit_bytes(), 16u << 10);
}

TEST(Credit, MayBeLoweredBelowWhatIsOutstanding) {
    Credit credit(1000);
    EXPECT_TRUE(credit.reserve(900));
    credit.set_limit(500);
    EXPECT_FALSE(credit.reserve(1));
    credit.release(500);
    EXPECT_TRUE(credit.reserve(100));
    EXPECT_FALSE(credit.reserve(1));
}

} // namespace
} // namespace thalweg::readout
