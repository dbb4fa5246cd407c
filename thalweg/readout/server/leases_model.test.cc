#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "thalweg/readout/server/leases.h"
#include "thalweg/readout/server/testing_owners.h"

namespace thalweg::readout {
namespace {

// A model with one entry per event, to which the interval maps must be equal.
struct Model {
    struct Entry {
        enum { free, owned, returned, cleared } kind = free;
        int owner = 0;
    };
    std::vector<Entry> events = std::vector<Entry>(300);
    std::uint64_t seen[3] = {};

    void give_back(int owner) {
        for (auto& it : events)
            if (it.kind == Entry::owned && it.owner == owner) it.kind = Entry::returned;
    }
    void expire(std::uint64_t now) {
        for (int owner = 0; owner < 3; ++owner)
            if (now > seen[owner] + kLeaseNs) give_back(owner);
    }
    bool can_take(std::uint64_t i) const {
        return i < events.size() && (events[i].kind == Entry::free || events[i].kind == Entry::returned);
    }
    EventSpan take(int owner, std::uint64_t count, std::uint64_t now, std::uint64_t available) {
        seen[owner] = now;
        expire(now);
        std::uint64_t first = 0;
        while (first < available && !can_take(first)) ++first;
        if (first == available) return {};
        auto const kind = events[first].kind;
        auto const had = events[first].owner;
        EventSpan range{first, 0};
        while (range.count < count && range.end() < available && can_take(range.end()) &&
               events[range.end()].kind == kind && (kind == Entry::free || events[range.end()].owner == had))
            events[range.end()] = {Entry::owned, owner}, ++range.count;
        return range;
    }
    bool claim(int owner, EventSpan range, std::uint64_t now) {
        seen[owner] = now;
        expire(now);
        for (auto i = range.first; i < range.end(); ++i)
            if (events[i].kind == Entry::owned && events[i].owner != owner) return false;
        for (auto i = range.first; i < range.end(); ++i)
            if (can_take(i)) events[i] = {Entry::owned, owner};
        return true;
    }
    bool clear(int owner, EventSpan range, std::uint64_t now) {
        seen[owner] = now;
        bool all = true;
        for (auto i = range.first; i < range.end(); ++i) {
            if (events[i].kind == Entry::cleared) continue;
            if (events[i].kind == Entry::free || events[i].owner != owner)
                all = false;
            else
                events[i] = {Entry::cleared, 0};
        }
        return all;
    }
    std::uint64_t cleared_before() const {
        std::uint64_t i = 0;
        while (i < events.size() && events[i].kind == Entry::cleared) ++i;
        return i;
    }
    std::uint64_t outstanding() const {
        return static_cast<std::uint64_t>(
            std::ranges::count_if(events, [](auto const& it) { return it.kind == Entry::owned; }));
    }
};

class LeasesAgainstModel : public testing::TestWithParam<unsigned> {};

TEST_P(LeasesAgainstModel, AgreeAfterEveryStep) {
    std::mt19937 random(GetParam());
    Leases leases(kLeaseNs);
    Model model;
    std::uint64_t now = 0, available = 0;
    auto const draw = [&](std::uint64_t below) { return random() % below; };
    for (int step = 0; step < 1500; ++step) {
        now += draw(60);
        available = std::min<std::uint64_t>(available + draw(2), 250);
        int const who = static_cast<int>(draw(3));
        OwnerId const owner{static_cast<std::uint64_t>(who), 7};
        auto const first = draw(280);
        EventSpan const range{first, 1 + draw(std::min<std::uint64_t>(20, 300 - first))};
        switch (draw(6)) {
        case 0:
        case 1: {
            auto const count = 1 + draw(12);
            auto const taking = leases.take(owner, count, now, [&](std::uint64_t from) {
                return EventSpan{from, from < available ? available - from : 0};
            });
            ASSERT_EQ(taking ? taking->range : EventSpan{}, model.take(who, count, now, available)) << step;
            break;
        }
        case 2:
            ASSERT_EQ(leases.claim(owner, range, now), model.claim(who, range, now)) << step;
            break;
        case 3:
            ASSERT_EQ(leases.clear(owner, range, now), model.clear(who, range, now)) << step;
            break;
        case 4:
            leases.renew(owner, now);
            model.seen[who] = now;
            break;
        default:
            if (draw(10) != 0) break;
            leases.give_back(owner, now);
            model.give_back(who);
        }
        ASSERT_EQ(leases.outstanding(), model.outstanding()) << step;
        ASSERT_EQ(leases.cleared_before(), model.cleared_before()) << step;
        auto const event = draw(300);
        ASSERT_EQ(leases.is_cleared(event), model.events[event].kind == Model::Entry::cleared) << step;
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LeasesAgainstModel, testing::Range(0u, 40u));

} // namespace
} // namespace thalweg::readout
