// A run that is followed: every row once, and each look has only what is new.
#include "thalweg/dataset/read/follower.h"

#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "thalweg/base/clock.h"
#include "thalweg/dataset/event_rows.h"
#include "thalweg/dataset/writer.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

class Followed : public ::testing::TestWithParam<char const*> {
  protected:
    Followed() : random(7), path(directory.file(std::string("run") + GetParam())) {
        CreateOptions options;
        options.layout.narrow_page_bytes = 512;
        options.layout.cluster_bytes = 2048;
        options.commit.flush_interval_ns = 2'000'000;
        writer = Writer::create(path, events(), options);
    }

    // Rows of a producer that is there, or of a new one; some end.
    void append_some() {
        auto const who = static_cast<std::uint8_t>(random() % 6);
        auto& place = producers[who];
        if (!place) {
            if (next.contains(who)) return; // it has ended
            place = std::make_unique<Producer>(writer->producer("events"));
        }
        EventRows const some(who, next[who], 1 + random() % 900);
        place->append(some.count, some.columns());
        next[who] += some.count;
        if (random() % 120 > 0 || who == 0) return;
        place->finish();
        place.reset();
    }

    // Everything that this look gives out is right, and comes in the order of its producer.
    std::uint64_t take(Follower& follower, RowCounts& seen) {
        std::uint64_t rows = 0;
        for (auto const& each : follower.look()) {
            auto const& reader = *follower.reader();
            expect_right_rows(reader, each.first_row, each.rows, false);
            auto const who = items<std::uint8_t>(reader, 0, {each.first_row, each.rows});
            auto const ids = items<std::uint64_t>(reader, 1, {each.first_row, each.rows});
            for (std::uint64_t i = 0; i < each.rows; ++i) {
                EXPECT_EQ(ids[i], seen[who[i]]) << "producer " << int{who[i]};
                ++seen[who[i]];
            }
            rows += each.rows;
        }
        return rows;
    }

    Directory directory;
    std::mt19937 random;
    std::string path;
    std::unique_ptr<Writer> writer;
    std::map<std::uint8_t, std::unique_ptr<Producer>> producers;
    RowCounts next;
};

TEST_P(Followed, EachLookHasWhatIsNewAndTheBlocksThatAreBegun) {
    Follower follower(path);
    RowCounts seen;
    std::uint64_t given = 0, kept = 0;
    for (int i = 0; i < 1000; ++i) {
        append_some();
        if (random() % 4 > 0) continue;
        auto const now = take(follower, seen);
        given += now;
        kept = std::max(kept, follower.reader()->rows(0) - now);
        if (random() % 100 > 0) continue;
        RowCounts other; // one that begins now sees no less
        Follower late(path);
        EXPECT_GE(take(late, other), given);
    }
    // A producer has a block of 512 rows or, in an RNTuple, a cluster with 64 KiB at least of each column.
    auto const most = 6u * (path.ends_with(".h5") ? 1024 : 16'384);
    EXPECT_LT(kept, most);
    EXPECT_GT(given, 2 * most);
    for (auto& [who, producer] : producers) {
        if (producer) producer->finish();
    }
    writer->close(kTimeoutNs);
    while (!follower.is_over()) take(follower, seen);
    EXPECT_EQ(seen, next);
}

// Records that take something back are met: everything is read anew, and nothing is given out twice.
TEST_P(Followed, GoesOnWhenTheRunWasResumed) {
    Follower follower(path);
    RowCounts seen;
    for (int i = 0; i < 200; ++i) append_some();
    take(follower, seen);
    producers.clear();
    writer.reset();
    take(follower, seen);
    writer = Writer::resume(path, std::nullopt, {});
    auto producer = writer->producer("events");
    take(follower, seen);
    EventRows const some(9, 0, 5000);
    producer.append(some.count, some.columns());
    take(follower, seen);
    producer.finish();
    writer->close(kTimeoutNs);
    while (!follower.is_over()) take(follower, seen);
    next[9] = 5000;
    EXPECT_EQ(seen, next);
}

INSTANTIATE_TEST_SUITE_P(Containers, Followed, ::testing::Values(".h5", ".root"));

} // namespace
} // namespace thalweg::dataset
