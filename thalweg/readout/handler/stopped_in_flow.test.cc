// Tests a handler that is stopped while its card writes, and the next one, which reads the buffer on.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <thread>
#include <unistd.h>

#include "thalweg/felix/card.h"
#include "thalweg/readout/client/client.h"
#include "thalweg/readout/handler/handler.h"
#include "thalweg/readout/handler/test_running_card.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kEvents = 60'000;
constexpr std::uint32_t kLinks = 14;

struct Seen {
    std::map<std::uint64_t, int> complete; // how often an event was handed on
    std::uint64_t incomplete = 0;
};

class OneRun {
  public:
    OneRun(HandlerConfig const& config, Seen& seen) : handler(config), seen_(seen) {
        handler.configure();
        handler.start(1, 60 * kSecond);
        collector_ = std::jthread([this] { collect(); });
    }
    bool builds(std::uint64_t events) {
        for (int i = 0; i < 6000; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(10)))
            if (sum(&GroupReport::complete) >= events) return true;
        return false;
    }
    void stop() {
        handler.stop(60 * kSecond);
        collector_.join();
    }
    template <typename Member> std::uint64_t sum(Member member) {
        std::uint64_t all = 0;
        for (auto const& group : handler.report().groups) all += group.*member;
        return all;
    }
    std::uint64_t left() {
        std::uint64_t all = 0;
        for (auto const& group : handler.report().groups)
            for (auto const& stream : group.streams) all += stream.left;
        return all;
    }

    Handler handler;

  private:
    void collect() {
        Client client({.handlers = {handler.address()}});
        client.run({.event =
                        [this](Event const& event) {
                            seen_.complete[event.event] += event.state == EventState::complete;
                            seen_.incomplete += event.state != EventState::complete;
                        },
                    .end_of_range = [&](RangeId const& range) { client.commit(range); }});
        client.settle(20 * kSecond);
    }

    Seen& seen_;
    std::jthread collector_;
};

class Stopped : public testing::TestWithParam<std::uint32_t> {};

INSTANTIATE_TEST_SUITE_P(Groups, Stopped, testing::Values(1, 2));

TEST_P(Stopped, Rule5NoEventIsTornByAHandlerThatIsStoppedAndTheNextOne) {
    felix::CardOptions options;
    options.name = fmt::format("stopped{}-{}", ::getpid(), GetParam());
    options.elinks = kLinks;
    options.events = kEvents;
    options.event_rate_hz = 50'000;
    options.sizes = {8, 40};
    options.buffer_bytes = 4 << 20;
    HandlerConfig config;
    config.buffer = felix::dma_name(options.name, 0);
    config.server.listen = "127.0.0.1:0";
    config.server.outstanding_events = 4096;
    config.index.events = 1 << 15;
    config.index.close_after_ns = config.index.dead_after_ns = 20 * kSecond; // a busy machine is no dead link
    for (std::uint32_t i = 0; i < GetParam(); ++i) config.groups.push_back({.source_id = i, .elinks = {}});
    for (std::uint16_t elink = 0; elink < kLinks; ++elink) config.groups[elink % GetParam()].elinks.push_back(elink);
    RunningCard card(options);
    Seen seen;
    for (int life = 0; life < 3; ++life) {
        OneRun run(config, seen);
        EXPECT_TRUE(run.builds(life == 2 ? 1 : 5000));
        if (life == 2) card.join();
        run.stop();
        auto const report = run.handler.report();
        EXPECT_TRUE(report.balances());
        EXPECT_EQ(report.lost(), 0u);
        EXPECT_EQ(run.sum(&GroupReport::incomplete), 0u) << "life " << life;
        EXPECT_EQ(run.left() > 0, life < 2) << "the card went on, and the next handler takes it";
    }
    EXPECT_EQ(seen.incomplete, 0u);
    EXPECT_EQ(seen.complete.size(), kEvents);
    for (auto const& [event, times] : seen.complete) ASSERT_EQ(times, 1) << event;
}

} // namespace
} // namespace thalweg::readout
