#include "thalweg/derive/event_loop.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/append/struct_producer.h"
#include "thalweg/dataset/read/verify.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::derive {
namespace {

using namespace dataset;
using namespace dataset::testing;

constexpr std::uint64_t kEvents = 60'000;

struct Event {
    std::uint64_t number;
    std::vector<float> pt;
};
auto event_type() { return struct_type<Event>().with("number", &Event::number).with("pt", &Event::pt); }

struct Leading {
    std::uint64_t number;
    float pt;
};
auto leading_type() { return struct_type<Leading>().with("number", &Leading::number).with("pt", &Leading::pt); }

std::vector<float> pt_of(std::uint64_t number) {
    std::vector<float> pt;
    for (std::uint64_t i = 0; i < number % 4; ++i) pt.push_back(static_cast<float>(number % 97 + i));
    return pt;
}

bool is_chosen(std::uint64_t number) { return number % 4 >= 2; }

class EventLoop : public ::testing::TestWithParam<char const*> {
  protected:
    void SetUp() override {
        CreateOptions options;
        options.layout.cluster_bytes = 1 << 16;
        options.layout.narrow_page_bytes = options.layout.wide_page_bytes = 1 << 14;
        auto const writer = Writer::create(input_, {{event_type().table("events")}}, options);
        StructProducer producer(writer->producer("events"), event_type());
        for (std::uint64_t number = 0; number < kEvents; ++number) producer.append({number, pt_of(number)});
        producer.finish();
        writer->close(kTimeoutNs);
    }

    void fill(Events& events) const {
        auto const numbers = events.values<std::uint64_t>("number");
        auto const pt = events.lists<float>("pt");
        StructRows rows(events[leading_], leading_type());
        for (std::uint64_t i = 0; i < events.size(); ++i) {
            if (pt[i].size() < 2) continue;
            rows.append({numbers[i], pt[i].back()});
            events.add("sum", static_cast<double>(pt[i].back()));
        }
        std::vector const spans{std::as_bytes(std::span(numbers))};
        events.rows(all_, "all").append(numbers.size(), spans);
        events.add("events", static_cast<double>(events.size()));
    }

    LoopReport run(LoopOptions const& options, std::function<void(Events&)> const& before = {}) const {
        return run_event_loop(
            {{input_}}, outputs(),
            [&](Events& events) {
                if (before) before(events);
                fill(events);
            },
            options);
    }

    std::vector<Output> outputs() const {
        model::Table all{"all", {scalar("number", model::Scalar::uint64)}, ""};
        return {{leading_, {{leading_type().table("leading")}}}, {all_, {{all}}}};
    }

    std::vector<std::uint64_t> numbers(std::string const& path) const {
        auto const reader = Reader::open(path);
        std::vector<std::uint64_t> values(reader->rows(0));
        reader->read(0, 0, {0, values.size()}, std::as_writable_bytes(std::span(values)));
        std::ranges::sort(values);
        return values;
    }

    void expect_right(LoopReport const& report) const {
        std::vector<std::uint64_t> chosen, all;
        double sum = 0;
        for (std::uint64_t number = 0; number < kEvents; ++number) {
            all.push_back(number);
            if (!is_chosen(number)) continue;
            chosen.push_back(number);
            sum += static_cast<double>(pt_of(number).back());
        }
        EXPECT_EQ(numbers(leading_), chosen);
        EXPECT_EQ(numbers(all_), all);
        EXPECT_EQ(report.sums.at("events"), static_cast<double>(kEvents));
        EXPECT_EQ(report.sums.at("sum"), sum);
        for (auto const& path : {leading_, all_}) {
            EXPECT_EQ(verify(path).faults, 0);
            EXPECT_EQ(sums_of(path), report.sums);
        }
    }

    void clear_outputs() const {
        for (auto const& path : {leading_, all_}) {
            if (!dataset::places_of_run(path).empty()) recover(path);
            std::filesystem::remove(path);
        }
    }

    Directory const directory_;
    std::string const input_ = directory_.file(GetParam());
    std::string const leading_ = directory_.file("leading-") + GetParam(), all_ = directory_.file("all-") + GetParam();
};

INSTANTIATE_TEST_SUITE_P(Containers, EventLoop, ::testing::Values("events.h5", "events.root"),
                         [](auto const& each) { return std::string(each.param).substr(7); });

TEST_P(EventLoop, FillsSeveralOutputsByProcessesAndThreads) {
    for (auto const& [workers, threads] : {std::pair{0u, 1u}, {0u, 3u}, {1u, 1u}, {2u, 1u}, {1u, 2u}, {2u, 2u}}) {
        if (workers > 0 && kWhyNoFork) GTEST_SKIP() << kWhyNoFork;
        SCOPED_TRACE(std::to_string(workers) + " x " + std::to_string(threads));
        auto const report = run({.workers = workers, .threads = threads});
        EXPECT_EQ(report.events, kEvents);
        EXPECT_EQ(report.events_done, kEvents);
        EXPECT_GT(report.ranges, 7u);
        EXPECT_EQ(report.failures, 0u);
        EXPECT_TRUE(report.deaths.empty());
        EXPECT_EQ(report.outputs[1].result.report.tables.at(0).rows, kEvents);
        expect_right(report);
        clear_outputs();
    }
}

TEST_P(EventLoop, GivesTheRangesOfTheDeadToOthers) {
    if (kWhyNoFork) GTEST_SKIP() << kWhyNoFork;
    auto const marks = directory_.file("mark-");
    auto const dies = [&](Events& events) { // each third range, once
        if (events.range().number % 3 != 0) return;
        auto const mark = marks + std::to_string(events.range().number);
        if (std::filesystem::exists(mark)) return;
        std::filesystem::create_directory(mark);
        ::raise(SIGKILL);
    };
    for (unsigned const threads : {1u, 3u}) {
        auto const report = run({.workers = 2, .threads = threads, .attempts = 2}, dies);
        EXPECT_GE(report.deaths.size(), 3u);
        EXPECT_NE(report.deaths.at(0).find("SIGKILL"), std::string::npos) << report.deaths.at(0);
        expect_right(report);
        for (std::uint64_t i = 0; i < report.ranges; ++i) std::filesystem::remove(marks + std::to_string(i));
        clear_outputs();
    }
}

TEST_P(EventLoop, StopsWhereARangeFailsAgainAndAgainAndGoesOnLater) {
    if (kWhyNoFork) GTEST_SKIP() << kWhyNoFork;
    auto const begun = directory_.file("begun");
    std::filesystem::create_directory(begun);
    // Bad events come when a worker is at its second range: so there is one that need not be done again.
    auto const is_bad = [&](Events& events) {
        bool const is_in_second_half = events.first() >= kEvents / 2;
        if (!is_in_second_half) std::filesystem::create_directory(begun + "/" + std::to_string(events.range().number));
        auto const ranges = [&] { return std::distance(std::filesystem::directory_iterator(begun), {}); };
        auto const end_ns = base::monotonic_ns() + kTimeoutNs;
        while (is_in_second_half && ranges() < 2 && base::monotonic_ns() < end_ns) ::usleep(1000);
        return is_in_second_half;
    };
    auto const fails = [&](Events& events) {
        if (is_bad(events)) throw std::runtime_error("a bad event");
    };
    auto const crashes = [&](Events& events) {
        if (is_bad(events)) ::raise(SIGSEGV);
    };
    auto said = message_of([&] { run({.workers = 2}, fails); });
    EXPECT_NE(said.find(input_ + ": events"), std::string::npos) << said;
    EXPECT_NE(said.find("a bad event"), std::string::npos) << said;
    said = message_of([&] { run({.workers = 2, .resume = true}, crashes); });
    EXPECT_NE(said.find("SIGSEGV"), std::string::npos) << said;
    EXPECT_NE(message_of([&] { run({}); }).find("is there already"), std::string::npos);
    EXPECT_NE(message_of([&] { run({.resume = true, .version = "2"}); }).find("version"), std::string::npos);
    auto const report = run({.workers = 0, .threads = 2, .resume = true});
    EXPECT_LT(report.events_done, kEvents);
    expect_right(report);
    auto const again = run({.resume = true}); // nothing is left to do
    EXPECT_EQ(again.events_done, 0u);
    EXPECT_EQ(again.sums, report.sums);
}

TEST_P(EventLoop, CreatesNoneWhereOneIsThere) {
    std::filesystem::copy_file(input_, all_);
    auto const said = message_of([&] { run({}); });
    EXPECT_NE(said.find(all_ + " is there already"), std::string::npos) << said;
    EXPECT_FALSE(std::filesystem::exists(leading_));
    EXPECT_NE(message_of([&] { run({.resume = true}); }).find("no job of an event loop has written it"),
              std::string::npos);
}

TEST_P(EventLoop, GoesOnAfterTheDeathOfAll) {
    if (kWhyNoFork) GTEST_SKIP() << kWhyNoFork;
    for (int kills = 0; kills < 4; ++kills) {
        auto const child = ::fork();
        if (child == 0) {
            run({.workers = 2, .resume = kills > 0}, [](Events&) { base::sleep_ns(20'000'000); });
            ::_exit(0);
        }
        base::sleep_ns(60'000'000 + static_cast<std::uint64_t>(kills) * 35'000'000);
        ::kill(child, SIGKILL);
        ASSERT_EQ(::waitpid(child, nullptr, 0), child);
        base::sleep_ns(100'000'000); // its workers are ended by the kernel
    }
    expect_right(run({.workers = 2, .resume = true}));
}

TEST_P(EventLoop, IsRefusedIfNoProcessHearsOfDeaths) {
    if (kWhyNoFork) GTEST_SKIP() << kWhyNoFork;
    auto* const before = ::signal(SIGCHLD, SIG_IGN);
    auto const said = message_of([&] { run({.workers = 2}); });
    ::signal(SIGCHLD, before);
    EXPECT_NE(said.find("SIGCHLD"), std::string::npos) << said;
    expect_right(run({.workers = 2, .resume = true}));
}

TEST_P(EventLoop, EndsAWorkerThatHangs) {
    if (kWhyNoFork) GTEST_SKIP() << kWhyNoFork;
    auto const hangs = [](Events& events) {
        if (events.range().number == 2) base::sleep_ns(3600'000'000'000);
    };
    auto const said = message_of([&] { run({.workers = 2, .attempts = 2, .timeout_ns = 200'000'000}, hangs); });
    EXPECT_NE(said.find("a range took longer than 0.2 s"), std::string::npos) << said;
}

TEST_P(EventLoop, StopsWhereItsProgressThrows) {
    if (kWhyNoFork) GTEST_SKIP() << kWhyNoFork;
    LoopOptions options{.workers = 2};
    std::uint64_t told = 0;
    options.progress = [&](LoopProgress const& progress) {
        EXPECT_EQ(progress.events, kEvents);
        if (++told == 2) throw std::runtime_error("the caller wants it to stop");
    };
    EXPECT_THROW(run(options, [](Events&) { base::sleep_ns(100'000'000); }), std::runtime_error);
    expect_right(run({.workers = 1, .resume = true}));
}

TEST_P(EventLoop, SaysWhatDoesNotFit) {
    if (kWhyNoFork) GTEST_SKIP() << kWhyNoFork;
    auto const said = [&](std::function<void(Events&)> const& function) {
        auto text = message_of([&] { run({.attempts = 1}, function); });
        clear_outputs();
        return text;
    };
    EXPECT_NE(said([](Events& events) { events.values<float>("numbr"); }).find("did you mean 'number'"),
              std::string::npos);
    EXPECT_NE(said([](Events& events) { events.values<float>("number"); }).find("it is uint64"), std::string::npos);
    EXPECT_NE(said([](Events& events) { events.values<float>("pt"); }).find("ask for its `lists`"), std::string::npos);
    EXPECT_NE(said([](Events& events) { events.lists<float>("number"); }).find("ask for its `values`"),
              std::string::npos);
    EXPECT_NE(said([](Events& events) { events["muons.root"]; }).find("no output 'muons.root'"), std::string::npos);
    EXPECT_NE(said([](Events&) { throw 7; }).find("no std::exception"), std::string::npos);
    auto const start = [&](Input const& input, std::vector<Output> const& outputs, LoopOptions const& options = {}) {
        return message_of([&] {
            run_event_loop(
                input, outputs, [](Events&) {}, options);
        });
    };
    EXPECT_NE(start({{}}, outputs()).find("no file"), std::string::npos);
    EXPECT_NE(start({{input_, input_}}, outputs()).find("given twice"), std::string::npos);
    EXPECT_NE(start({{input_}, "nothing"}, outputs()).find("no table 'nothing'"), std::string::npos);
    EXPECT_NE(start({{input_}}, {}).find("output"), std::string::npos);
    EXPECT_NE(start({{input_}}, {outputs()[0], outputs()[0]}).find("given twice"), std::string::npos);
    EXPECT_NE(start({{input_}}, outputs(), {.threads = 0}).find("threads"), std::string::npos);
    EXPECT_NE(start({{directory_.file("none.root")}}, outputs()).find("none.root"), std::string::npos);
}

} // namespace
} // namespace thalweg::derive
