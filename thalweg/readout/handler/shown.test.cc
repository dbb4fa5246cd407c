// Tests what a handler shows of itself: why nothing is read, and its metrics.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <thread>
#include <unistd.h>

#include "thalweg/base/error.h"
#include "thalweg/felix/card.h"
#include "thalweg/readout/handler/handler.h"
#include "thalweg/readout/handler/test_running_card.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

HandlerConfig config_for(felix::CardOptions const& card) {
    HandlerConfig config;
    config.name = "dh7";
    config.buffer = felix::dma_name(card.name, 0);
    config.server.listen = "127.0.0.1:0";
    config.server.outstanding_events = 4096;
    config.server.threads = 2;
    config.index.events = 1 << 15;
    config.groups.push_back({.source_id = 0x100, .elinks = {0, 1}});
    return config;
}

felix::CardOptions slow_card(std::string const& what) {
    felix::CardOptions options;
    options.name = fmt::format("shown-{}-{}", what, ::getpid());
    options.elinks = 2;
    options.event_rate_hz = 1000;
    options.buffer_bytes = 1 << 20;
    return options;
}

TEST(NotReady, SaysInEachStateWhyNothingIsReadAndWhatWouldChangeThat) {
    auto const options = slow_card("states");
    RunningCard const card(options);
    Handler handler(config_for(options));
    EXPECT_EQ(handler.not_ready(), "dh7 is initial: POST /control/configure prepares it");
    handler.configure();
    EXPECT_EQ(handler.not_ready(), "dh7 is configured: POST /control/start begins a run");
    handler.start(3, 60 * kSecond);
    EXPECT_EQ(handler.not_ready(), "");
    handler.pause();
    EXPECT_EQ(handler.not_ready(), "dh7 is paused: POST /control/resume lets it read on");
    handler.resume();
    handler.stop(0);
    EXPECT_EQ(handler.not_ready(),
              "dh7 is stopped: run 3 is over, and POST /control/configure and then start begin another one");
    handler.configure();
    EXPECT_EQ(handler.not_ready(), "dh7 is configured: POST /control/start begins a run");
}

TEST(NotReady, NamesTheCardThatIsNotThereAndWhetherItIsLookedForAgain) {
    auto const options = slow_card("late");
    Handler handler(config_for(options));
    handler.configure();
    EXPECT_THROW(handler.start(1, 0, true), base::SystemError);
    auto const why = handler.not_ready();
    EXPECT_TRUE(
        why.starts_with("dh7 is configured: it tries again and again to begin a run: handler dh7 has no card ("))
        << why;
    EXPECT_NE(why.find(options.name), std::string::npos) << why;
    EXPECT_THROW(handler.start(1, 0), base::SystemError);
    EXPECT_TRUE(handler.not_ready().starts_with("dh7 is configured: it has not started: handler dh7 has no card ("))
        << handler.not_ready();
    RunningCard const card(options);
    handler.start(1, 60 * kSecond);
    EXPECT_EQ(handler.not_ready(), "");
}

// A sum beside its parts under one name would count twice in every sum() of a query.
TEST(Samples, OfOneMetricHaveTheSameLabelsAndAreTheirOwnSeries) {
    auto const options = slow_card("samples");
    RunningCard const card(options);
    Handler handler(config_for(options));
    handler.configure();
    handler.start(1, 60 * kSecond);
    std::map<std::string, std::set<std::string>> labels_of;
    std::set<std::string> series;
    for (auto const& sample : handler.samples()) {
        std::string names, values;
        for (auto const& [name, value] : sample.labels) {
            names += name + ",";
            values += value + ",";
        }
        labels_of[sample.name].insert(names);
        EXPECT_TRUE(series.insert(sample.name + "{" + values).second) << sample.name << " " << values;
    }
    EXPECT_EQ(labels_of["thalweg_readout_serve_cpu_seconds_total"], std::set<std::string>{"handler,thread,"});
    for (auto const& [name, labels] : labels_of) EXPECT_EQ(labels.size(), 1u) << name;
}

} // namespace
} // namespace thalweg::readout
