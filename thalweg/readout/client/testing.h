// For the tests of the client: runs one to the end of the run, and checks everything that it hands on.
#pragma once

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "thalweg/readout/client/client.h"
#include "thalweg/readout/client/test_handler.h"

namespace thalweg::readout::testing {

inline ClientOptions options_for(std::vector<TestHandler*> const& handlers) {
    ClientOptions options;
    for (auto const* handler : handlers) options.handlers.push_back(handler->address());
    options.range_events = 64;
    options.reconnect_ns = 2'000'000;
    options.deadline_ms = 200;
    return options;
}

struct Collected {
    explicit Collected(ClientOptions const& options, std::uint64_t most_events = 0, bool commit = true)
        : client(options) {
        EventSink sink;
        sink.event = [&](Event const& event) {
            EXPECT_TRUE(events.insert(event.event).second) << event.event << " twice";
            states[event.state]++;
            missing += event.handlers_missing;
            for (auto const& fragment : event.fragments) {
                EXPECT_EQ(fragment.header().event, event.event);
                auto const bytes = fragment.bytes();
                auto const length = fragment.payload(0).size();
                auto const expected =
                    make_fragment(event.run, event.event, fragment.header().source_id,
                                  static_cast<std::uint32_t>(length), fragment.header().checksum != 0);
                EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end()));
            }
            fragments += event.fragments.size();
            if (most_events > 0 && events.size() == most_events) client.stop();
        };
        sink.end_of_range = [&](RangeId const& range) {
            if (commit) client.commit(range);
        };
        client.run(sink);
        EXPECT_TRUE(client.settle(5'000'000'000));
        counters = client.counters();
    }

    Client client;
    std::set<std::uint64_t> events;
    std::map<EventState, std::uint64_t> states;
    std::uint64_t fragments = 0;
    std::uint64_t missing = 0;
    ClientCounters counters;
};

inline void expect_balance(ClientCounters const& counters, std::uint64_t events) {
    EXPECT_EQ(counters.events, counters.complete + counters.incomplete);
    EXPECT_EQ(events, counters.events + counters.absent + counters.cleared + counters.evicted + counters.lost +
                          counters.duplicates);
}

} // namespace thalweg::readout::testing
