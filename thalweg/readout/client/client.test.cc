#include "thalweg/base/error.h"
#include "thalweg/readout/client/testing.h"

namespace thalweg::readout {
namespace {

using namespace testing;

TEST(Client, CollectsEveryEventOfManyHandlersOnceAndClearsIt) {
    TestHandler one({}), two({.sources = {7}, .payload_bytes = 33}), three({.sources = {8, 9, 10}});
    Collected const all(options_for({&one, &two, &three}));
    EXPECT_EQ(all.events.size(), 5000u);
    EXPECT_EQ(*all.events.begin(), 1000u);
    EXPECT_EQ(all.fragments, 5000u * 6);
    EXPECT_EQ(all.counters.complete, 5000u);
    EXPECT_EQ(all.counters.wrong, 0u);
    EXPECT_EQ(all.client.run_number(), 7u);
    for (auto* handler : {&one, &two, &three}) EXPECT_EQ(handler->cleared(), 5000u);
    expect_balance(all.counters, 5000);
}

TEST(Client, EventsComeInOrderWithinARangeWhateverTheOrderOfAnswers) {
    TestHandler one({.reorder = 5}), two({.sources = {3}, .reorder = 3});
    Client client(options_for({&one, &two}));
    std::uint64_t last = 0, ranges = 0;
    bool fresh = true;
    client.run({.event =
                    [&](Event const& event) {
                        EXPECT_TRUE(fresh || event.event == last + 1);
                        last = event.event;
                        fresh = false;
                    },
                .end_of_range =
                    [&](RangeId const& range) {
                        EXPECT_EQ(last, range.first + range.count - 1);
                        fresh = true;
                        ++ranges;
                    }});
    EXPECT_EQ(client.counters().events, 5000u);
    EXPECT_EQ(ranges, (5000u + 63) / 64);
}

TEST(Client, AnswersThatHoldLessThanARangeAreContinued) {
    TestHandler one({.most_events = 7}), two({.sources = {3}, .most_events = 50});
    Collected const all(options_for({&one, &two}));
    EXPECT_EQ(all.counters.complete, 5000u);
}

TEST(Client, TheLastEventsOfASlowRunAreNotLeftUntilTheRangeIsFull) {
    TestHandler one({.events = 100, .goes_on = true});
    Collected const all(options_for({&one}), 100);
    EXPECT_EQ(all.counters.complete, 100u);
    EXPECT_EQ(one.cleared(), 100u);
}

TEST(Client, CreditIsNeverExceeded) {
    for (std::uint64_t const credit : {4096u, 20'000u, 200'000u}) {
        TestHandler one({.events = 1500}), two({.events = 1500, .sources = {3}}),
            three({.events = 1500, .sources = {4}});
        auto options = options_for({&one, &two, &three});
        options.credit_bytes = credit;
        Collected const all(options);
        EXPECT_EQ(all.counters.complete, 1500u);
        EXPECT_LE(all.counters.max_outstanding_bytes, credit);
        EXPECT_GT(all.counters.max_outstanding_bytes, credit / 4);
        EXPECT_LE(one.most_asked_bytes(), credit);
    }
}

TEST(Client, FindsItsCreditAndCollectsEverything) {
    for (std::uint64_t const credit : {8192u, 60'000u, 32u << 20}) {
        TestHandler one({.sources = {1}}), other({.sources = {2}, .not_yet_every = 11});
        auto options = options_for({&one, &other});
        options.credit_bytes = credit;
        options.find_credit = true;
        Collected const all(options);
        EXPECT_EQ(all.events.size(), 5000u);
        expect_balance(all.counters, 5000);
        EXPECT_LE(all.counters.max_outstanding_bytes, credit);
    }
}

// 16 handlers and a credit of 32 KiB: equal shares would be answers of 2 KiB, which cost more than they carry.
TEST(Client, WithAFoundCreditFewHandlersAreAskedAtATime) {
    std::list<TestHandler> handlers;
    std::vector<TestHandler*> each;
    for (std::uint32_t i = 0; i < 16; ++i)
        each.push_back(&handlers.emplace_back(TestHandlerOptions{.events = 640, .sources = {i + 1}}));
    auto options = options_for(each);
    options.credit_bytes = 32 << 10;
    options.find_credit = true;
    options.ranges_in_flight = 1; // so a handler is asked for one answer at a time
    Collected const all(options);
    EXPECT_EQ(all.counters.complete, 640u);
    EXPECT_LE(all.counters.max_outstanding_bytes, options.credit_bytes);
    for (auto const* handler : each) EXPECT_GT(handler->most_asked_bytes(), 4096u);
}

TEST(Client, AbsentEventsAreCountedAndNotHandedOn) {
    TestHandler one({.absent_every = 10});
    Collected const all(options_for({&one}));
    EXPECT_EQ(all.counters.absent, 500u);
    EXPECT_EQ(all.counters.complete, 4500u);
    EXPECT_EQ(one.cleared(), 5000u);
    expect_balance(all.counters, 5000);
}

TEST(Client, AHandlerWithoutAnythingOfAnEventMakesItIncomplete) {
    TestHandler one({}), two({.sources = {3}, .absent_every = 10}), three({.sources = {4}, .evicted_every = 100});
    Collected all(options_for({&one, &two, &three}));
    EXPECT_EQ(all.counters.events, 5000u);
    EXPECT_EQ(all.states[EventState::evicted], 50u);
    EXPECT_EQ(all.states[EventState::incomplete], 450u); // each evicted one is absent, too
    EXPECT_EQ(all.missing, 550u);
    expect_balance(all.counters, 5000);
}

TEST(Client, WrongFragmentsAreCountedAndNeverHandedOn) {
    TestHandler one({.wrong_marker_every = 100}), two({.sources = {3}, .wrong_event_every = 50});
    Collected const all(options_for({&one, &two}));
    EXPECT_EQ(all.counters.wrong, 50u * 2 + 100);
    EXPECT_EQ(all.fragments, 5000u * 3 - 200);
    EXPECT_EQ(all.counters.lost, 50u); // nothing was left of these
    expect_balance(all.counters, 5000);
}

TEST(Client, AnswersThatLieOrEndInTheMiddleAreAskedForAgain) {
    // A wrong answer ends the connection, and all its requests are repeated. If answers were wrong more often, one
    // range could meet each of them, and the client gives up after the fifth.
    TestHandler one({.lie_every = 29}), two({.sources = {3}, .cut_every = 7});
    Collected const all(options_for({&one, &two}));
    EXPECT_EQ(all.counters.complete, 5000u);
    EXPECT_GT(all.counters.reconnects, 10u);
    EXPECT_EQ(two.cleared(), 5000u);
}

TEST(Client, WhatIsNotClosedYetIsAskedForAgain) {
    TestHandler one({}), two({.sources = {3}, .not_yet_every = 3});
    Collected const all(options_for({&one, &two}));
    EXPECT_EQ(all.counters.complete, 5000u);
}

TEST(Client, WhatAHandlerNeverClosesIsLostAfterAWhile) {
    TestHandler one({.events = 500}), two({.events = 500, .sources = {3}, .not_yet_every = 1});
    auto options = options_for({&one, &two});
    options.patience_ns = 20'000'000;
    Collected const all(options);
    EXPECT_EQ(all.counters.incomplete, 500u);
    EXPECT_EQ(all.counters.parts_lost, 500u);
    expect_balance(all.counters, 500);
}

TEST(Client, RefusedClearsAreCounted) {
    TestHandler one({.lease_ns = 20'000'000, .refuse_clears = true});
    Collected const all(options_for({&one}));
    EXPECT_EQ(all.counters.refused_clears, (5000u + 63) / 64);
    EXPECT_EQ(one.cleared(), 0u);
}

TEST(Client, AHandlerThatIsStartedAnewHasLostItsEventsAndNothingHangs) {
    TestHandler one({.events = 20'000});
    auto two = std::make_unique<TestHandler>(TestHandlerOptions{.events = 20'000, .sources = {3}});
    auto const address = two->address();
    auto options = options_for({&one, two.get()});
    Client client(options);
    std::uint64_t seen = 0, last = 0; // ranges are handed on in any order
    client.run({.event =
                    [&](Event const& event) {
                        last = std::max(last, event.event);
                        if (++seen != 5000) return;
                        two.reset();
                        two = std::make_unique<TestHandler>(TestHandlerOptions{.first_event = last + 2000,
                                                                               .events = 21'000 - last - 2000,
                                                                               .sources = {3}},
                                                            address);
                    },
                .end_of_range = [&](RangeId const& range) { client.commit(range); }});
    auto const counters = client.counters();
    EXPECT_EQ(counters.events, 20'000u);
    EXPECT_GT(counters.parts_lost, 0u);
    EXPECT_LT(counters.parts_lost, 2000u);
    EXPECT_GE(counters.incomplete, 1400u); // it knows nothing of 2000; 8 ranges of 64 may be here already
    EXPECT_EQ(counters.wrong, 0u);
}

TEST(Client, WhenTheFirstHandlerIsStartedAnewTheGapIsCounted) {
    auto one = std::make_unique<TestHandler>(TestHandlerOptions{.events = 1 << 20});
    auto const address = one->address();
    Client client(options_for({one.get()}));
    std::set<std::uint64_t> seen;
    std::uint64_t restarted_at = 0;
    client.run({.event =
                    [&](Event const& event) {
                        EXPECT_TRUE(seen.insert(event.event).second);
                        if (seen.size() != 3000) return;
                        one.reset();
                        restarted_at = event.event + 5000;
                        one = std::make_unique<TestHandler>(
                            TestHandlerOptions{.first_event = restarted_at, .events = 1000}, address);
                    },
                .end_of_range = [&](RangeId const& range) { client.commit(range); }});
    auto const counters = client.counters();
    EXPECT_EQ(*seen.rbegin(), restarted_at + 999);
    EXPECT_GT(counters.gaps, 0u);
    EXPECT_EQ(seen.size() + counters.lost + counters.gaps, restarted_at + 1000 - 1000);
    expect_balance(counters, seen.size() + counters.lost);
}

TEST(Client, ARangeThatComesAgainIsNotHandedOnAgain) {
    TestHandler one({.events = 640});
    auto options = options_for({&one});
    { Collected const first(options, 0, false); } // goes without clearing: its ranges are given back
    EXPECT_EQ(one.cleared(), 0u);
    Collected const second(options);
    EXPECT_EQ(second.counters.events, 640u);
    EXPECT_EQ(second.counters.again, 640u);
    EXPECT_EQ(one.cleared(), 640u);
}

TEST(Client, TakesAndClearsManyRangesInOneMessage) {
    TestHandler one({.events = 64 * 200}), two({.events = 64 * 200, .sources = {3}});
    auto options = options_for({&one, &two});
    options.ranges_in_flight = 50;
    Collected const collected(options);
    EXPECT_EQ(collected.counters.complete, 64u * 200);
    EXPECT_EQ(one.cleared(), 64u * 200);
    EXPECT_EQ(two.cleared(), 64u * 200);
    EXPECT_LE(one.take_messages(), 100u) << "200 ranges";
    EXPECT_LE(one.clear_messages(), 100u);
}

TEST(Client, SaysWhyAHandlerOfAnotherVersionRefusesIt) {
    TestHandler old({.version = 2});
    auto options = options_for({&old});
    options.give_up_ns = 300'000'000;
    try {
        Collected const collected(options);
        FAIL() << "it went on";
    } catch (base::SystemError const& error) {
        EXPECT_NE(std::string(error.what()).find("this is another version"), std::string::npos) << error.what();
    }
}

} // namespace
} // namespace thalweg::readout
