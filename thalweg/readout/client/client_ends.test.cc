#include <atomic>
#include <cmath>
#include <optional>
#include <thread>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/readout/client/testing.h"

namespace thalweg::readout {
namespace {

using namespace testing;

TEST(Client, ReconnectsToAHandlerThatDoesNotAnswerAndGivesUpWhenItStaysAway) {
    std::string address;
    { address = TestHandler({}).address(); }
    ClientOptions options{.handlers = {address}, .reconnect_ns = 2'000'000, .give_up_ns = 50'000'000};
    Client client(options);
    EXPECT_THROW(client.run({}), base::SystemError);
    EXPECT_NE(client.waiting_for().find(address), std::string::npos);
}

TEST(Client, SaysOfAHandlerThatNeverGreetsWhatItWaitsFor) {
    auto const listener = transport::listen_at(transport::parse_address("127.0.0.1:0")); // and no server accepts
    Client client({.handlers = {listener.address.str()}});
    int turns = 0;
    client.run({.idle = [&] {
        if (++turns == 3) client.stop();
    }});
    EXPECT_EQ(client.waiting_for(), listener.address.str() + " (it has sent no welcome yet)");
    ASSERT_EQ(client.away().size(), 1u);
    EXPECT_FALSE(client.away()[0].was_met);
}

// The port of metrics does so if a byte of the hello looks like the end of a line: a client's name is random.
TEST(Client, SaysOfAServerThatClosesTheConnectionThatItSendsNoWelcome) {
    auto const listener = transport::listen_at(transport::parse_address("127.0.0.1:0"));
    Client client({.handlers = {listener.address.str()}, .reconnect_ns = 2'000'000});
    auto const begin_ns = base::monotonic_ns();
    auto const said = listener.address.str() + " (it sends no welcome, as the port of its metrics would)";
    base::FileDescriptor open;
    client.run({.idle = [&] {
        if (auto accepted = transport::accept_from(listener.socket)) open = std::move(accepted->socket);
        std::array<std::byte, 256> hello;
        if (open && transport::receive_some(open, hello).bytes > 0) open.reset(); // in order
        if (client.waiting_for() == said || base::monotonic_ns() > begin_ns + 2'000'000'000) client.stop();
    }});
    EXPECT_EQ(client.waiting_for(), said);
}

TEST(Client, TellsAHandlerThatWasLostFromOneThatWasNeverMet) {
    std::string address;
    { address = TestHandler({}).address(); }
    auto one = std::make_unique<TestHandler>(TestHandlerOptions{.events = 1 << 20});
    auto options = options_for({one.get()});
    options.handlers.push_back(address);
    Client client(options);
    EXPECT_EQ(client.away().size(), 2u) << "none was met before run()";
    auto const end_ns = base::monotonic_ns() + 60'000'000'000;
    client.run({.idle = [&] {
        if (client.run_number() != 0) one.reset();
        auto const away = client.away();
        if (base::monotonic_ns() > end_ns || (away.size() == 2 && away[0].was_met)) client.stop();
    }});
    auto const away = client.away();
    ASSERT_EQ(away.size(), 2u);
    EXPECT_TRUE(away[0].was_met);
    EXPECT_FALSE(away[0].may_leave) << "its run goes on";
    EXPECT_EQ(away[1].address, address);
    EXPECT_FALSE(away[1].was_met);
    EXPECT_NE(away[1].why, "");
}

// Its ranges wait for a handler that no address leads to, until the run of the first one is over.
struct WithOneThatIsAway {
    explicit WithOneThatIsAway(std::uint64_t patience_ns) {
        std::string empty_address;
        { empty_address = TestHandler({}).address(); }
        auto options = options_for({one.get()});
        options.handlers.push_back(empty_address);
        options.patience_ns = patience_ns;
        client.emplace(options);
    }

    void run(std::function<void()> const& idle) {
        client->run({.event = [&](Event const& event) { missing += event.handlers_missing; },
                     .end_of_range = [&](RangeId const& range) { client->commit(range); },
                     .idle =
                         [&] {
                             idle();
                             if (base::monotonic_ns() > begin_ns + 30'000'000'000) client->stop();
                         }});
    }

    std::unique_ptr<TestHandler> one = std::make_unique<TestHandler>(TestHandlerOptions{.lease_ns = 100'000'000});
    std::optional<Client> client;
    std::uint64_t begin_ns = base::monotonic_ns();
    std::uint64_t missing = 0;
};

TEST(Client, HandsOnWhatOneHandlerHasAtTheEndOfTheRun) {
    WithOneThatIsAway collector(200'000'000);
    std::uint64_t most_before = 0;
    collector.run([&] {
        bool const is_over = base::monotonic_ns() > collector.begin_ns + 500'000'000;
        if (!is_over) most_before = collector.one->given();
        collector.one->set_over(is_over);
    });
    EXPECT_EQ(most_before, 64u * 8) << "it takes no more than it may have in flight";
    EXPECT_EQ(collector.client->counters().events, 5000u);
    EXPECT_EQ(collector.missing, 5000u);
    EXPECT_FALSE(collector.client->settle(500'000'000)) << "the other one may still come";
    EXPECT_EQ(collector.one->cleared(), 5000u);
}

TEST(Client, EndsWithAFirstHandlerThatHasLeftBehindTheEndOfItsRun) {
    WithOneThatIsAway collector(4'000'000'000);
    std::uint64_t asked = 0, told_ns = 0;
    collector.run([&] {
        if (!collector.one) return;
        auto const now = base::monotonic_ns();
        if (asked == 0 && collector.one->given() == 64u * 8) {
            collector.one->set_over(true);
            asked = collector.one->take_messages();
        }
        if (asked != 0 && told_ns == 0 && collector.one->take_messages() > asked) told_ns = now;
        if (told_ns != 0 && now > told_ns + 50'000'000) collector.one.reset();
    });
    EXPECT_LT(base::monotonic_ns(), collector.begin_ns + 30'000'000'000);
    EXPECT_EQ(collector.client->counters().events, 64u * 8);
}

TEST(Client, WaitsForTheNextRunIfThatBeforeWasOverWhenItCame) {
    for (auto const state : {ReadoutState::stopped, ReadoutState::configured}) {
        for (bool const is_alone : {true, false}) {
            TestHandler one(TestHandlerOptions{.state = state});
            TestHandler two(TestHandlerOptions{.sources = {3}});
            Client client(options_for(is_alone ? std::vector{&one} : std::vector{&one, &two}));
            auto const begin_ns = base::monotonic_ns();
            client.run({.end_of_range = [&](RangeId const& range) { client.commit(range); },
                        .idle =
                            [&] {
                                if (base::monotonic_ns() > begin_ns + 300'000'000) one.set_running();
                            }});
            EXPECT_EQ(client.counters().events, 5000u);
        }
    }
}

TEST(Client, SaysOfAHandlerThatItIsInAnotherRun) {
    TestHandler one(TestHandlerOptions{}), two(TestHandlerOptions{.run = 8, .sources = {3}});
    auto options = options_for({&one, &two});
    options.patience_ns = 200'000'000;
    Client client(options);
    std::string waiting, why;
    client.run({.end_of_range = [&](RangeId const& range) { client.commit(range); },
                .idle =
                    [&] {
                        for (auto const& each : client.away()) {
                            if (!each.is_there) continue;
                            if (why.empty()) waiting = client.waiting_for();
                            why = each.why;
                        }
                    }});
    EXPECT_EQ(client.counters().incomplete, 5000u);
    EXPECT_EQ(why, "it is in run 8, and the first one in run 7");
    EXPECT_EQ(waiting, two.address() + " (" + why + ")") << "it may still begin the run";
    ASSERT_EQ(client.missing_parts().size(), 2u);
    EXPECT_EQ(client.missing_parts()[0].other_run, 0u);
    EXPECT_EQ(client.missing_parts()[1].other_run, 8u);
    EXPECT_TRUE(client.settle(5'000'000'000));
    EXPECT_EQ(client.counters().refused_clears, 0u) << "no other collector has these events";
    EXPECT_EQ(client.waiting_for(), "");
}

TEST(Client, AHandlerThatHasEndedTheRunIsNotSaidToBeInAnotherOne) {
    TestHandler one(TestHandlerOptions{}), two(TestHandlerOptions{.sources = {3}});
    Client client(options_for({&one, &two}));
    std::uint64_t seen = 0;
    client.run({.event =
                    [&](Event const&) {
                        if (++seen == 1000) two.set_next_run();
                    },
                .end_of_range = [&](RangeId const& range) { client.commit(range); }});
    EXPECT_EQ(client.counters().events, 5000u);
    EXPECT_GT(client.missing_parts()[1].without, 0u);
    EXPECT_EQ(client.missing_parts()[1].other_run, 0u) << "it was in the run, and left it";
}

TEST(Client, AHandlerThatCountsTheEventsOfARunAnewIsNotTakenForOneThatRepeatsItself) {
    auto one = std::make_unique<TestHandler>(TestHandlerOptions{.events = 1 << 20});
    auto const address = one->address();
    auto options = options_for({one.get()});
    Client client(options);
    std::uint64_t seen = 0;
    EventSink const sink{.event =
                             [&](Event const&) {
                                 if (++seen != 3000) return;
                                 one.reset();
                                 one = std::make_unique<TestHandler>(TestHandlerOptions{.events = 1 << 20}, address);
                             },
                         .end_of_range = [&](RangeId const& range) { client.commit(range); }};
    try {
        client.run(sink);
        FAIL();
    } catch (base::SystemError const& error) {
        std::string const text = error.what();
        EXPECT_NE(text.find("handler " + address + " was restarted and counts events of run 7"), std::string::npos)
            << text;
    }
    EXPECT_EQ(client.counters().duplicates, 0u);
}

TEST(Client, Rule5WhatAHandlerThatIsStartedAnewRepeatsIsADuplicate) {
    auto one = std::make_unique<TestHandler>(TestHandlerOptions{.events = 5000, .goes_on = true});
    auto const address = one->address();
    std::uint64_t seen = 0;
    Client client(options_for({one.get()}));
    client.run({.event =
                    [&](Event const&) {
                        if (++seen == 3000) one.reset();
                        if (one) return;
                        TestHandlerOptions const anew{.first_event = 3990, .events = 2010, .continues = true};
                        one = std::make_unique<TestHandler>(anew, address);
                    },
                .end_of_range = [&](RangeId const& range) { client.commit(range); }});
    EXPECT_GT(client.counters().duplicates, 0u);
    EXPECT_EQ(client.counters().events, 5000u);
    expect_balance(client.counters(), 5000 + client.counters().duplicates);
}

TEST(Client, AWrongTokenIsAUsageError) {
    TestHandler one({.token = "secret"});
    Client wrong(options_for({&one}));
    EXPECT_THROW(wrong.run({}), base::UsageError);
    auto options = options_for({&one});
    options.token = "secret";
    EXPECT_EQ(Collected(options).counters.complete, 5000u);
}

TEST(Client, StopEndsAClientThatWaits) {
    TestHandler one({.silent = true});
    Client client(options_for({&one}));
    std::atomic<int> idle = 0;
    std::jthread const stopper([&] {
        while (idle <= 3) base::sleep_ns(1'000'000);
        client.stop();
    });
    client.run({.idle = [&] { ++idle; }});
    EXPECT_GT(idle, 3);
}

TEST(Client, WhatTheSinkThrowsEndsTheRun) {
    TestHandler one({});
    Client client(options_for({&one}));
    EXPECT_THROW(client.run({.event = [](Event const&) { throw std::runtime_error("enough"); }}), std::runtime_error);
}

TEST(Client, AnObserverSamplesAndClearsNothing) {
    TestHandler one({.events = 5000}), two({.events = 5000, .sources = {3}});
    auto options = options_for({&one, &two});
    options.role = ClientRole::observer;
    options.sample_fraction = 0.5;
    options.patience_ns = 10'000'000;
    Client client(options);
    std::uint64_t seen = 0;
    client.run({.event =
                    [&](Event const& event) {
                        EXPECT_EQ(event.fragments.size(), 3u);
                        if (++seen == 32) client.stop();
                    },
                .end_of_range = [](RangeId const&) { FAIL(); }});
    EXPECT_EQ(one.cleared(), 0u);
    EXPECT_EQ(one.given(), 0u);
}

TEST(Client, RefusesRequestsThatCannotWork) {
    EXPECT_THROW(Client({}), base::UsageError);
    EXPECT_THROW(Client({.handlers = {"no port"}}), base::UsageError);
    EXPECT_THROW(Client({.handlers = {"127.0.0.1:1"}, .range_events = 5000}), base::UsageError);
    for (double const sample : {0.0, -0.5, 1.5, std::nan("")})
        EXPECT_THROW(Client({.handlers = {"127.0.0.1:1"}, .sample_fraction = sample}), base::UsageError) << sample;
}

} // namespace
} // namespace thalweg::readout
