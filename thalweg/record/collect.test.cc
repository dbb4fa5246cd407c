#include "thalweg/record/collect.h"

#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <thread>

#include "thalweg/dataset/read/reader.h"
#include "thalweg/format/hdf5/files/format.h"
#include "thalweg/model/column.h"
#include "thalweg/readout/client/test_handler.h"
#include "thalweg/record/event_rows.h"
#include "thalweg/record/testing.h"

namespace thalweg::record {
namespace {

using readout::testing::make_fragment;
using readout::testing::TestHandler;
using readout::testing::TestHandlerOptions;

std::unique_ptr<dataset::Writer> create(std::string const& path) {
    dataset::CreateOptions options;
    options.commit.flush_interval_ns = 20'000'000;
    return dataset::Writer::create(path, schema_of_events(), options);
}

CollectOptions options_for(std::vector<TestHandler*> const& handlers) {
    CollectOptions options;
    for (auto const* handler : handlers) options.client.handlers.push_back(handler->address());
    options.client.range_events = 64;
    options.client.reconnect_ns = 2'000'000;
    return options;
}

template <class T> std::vector<T> read(dataset::Reader const& reader, std::size_t column, std::uint64_t items) {
    std::vector<T> values(items);
    reader.read(0, column, {0, items}, std::as_writable_bytes(std::span(values)));
    return values;
}

// Checks every row of a file, each fragment byte for byte, and returns its events.
std::set<std::uint64_t> check_file(std::string const& path, std::size_t fragments_each, std::uint32_t payload_bytes) {
    auto const opened = dataset::Reader::open(path);
    auto const& reader = *opened;
    auto const rows = reader.rows(0);
    auto const events = read<std::uint64_t>(reader, 1, rows);
    auto const lengths = read<std::uint64_t>(reader, 8, rows);
    auto const sources = read<std::uint32_t>(reader, 9, rows * fragments_each);
    auto const data_lengths = read<std::uint64_t>(reader, 13, rows * fragments_each);
    std::uint64_t bytes = 0;
    for (auto const length : data_lengths) bytes += length;
    auto const data = read<std::byte>(reader, 14, bytes);
    std::size_t next = 0, at = 0;
    for (std::size_t row = 0; row < rows; ++row) {
        EXPECT_EQ(lengths[row], fragments_each);
        for (std::size_t i = 0; i < fragments_each; ++i, ++next) {
            auto const expected = make_fragment(7, events[row], sources[next], payload_bytes, true);
            EXPECT_EQ(data_lengths[next], expected.size());
            EXPECT_TRUE(std::equal(expected.begin(), expected.end(), data.begin() + static_cast<long>(at)));
            at += data_lengths[next];
        }
    }
    std::set<std::uint64_t> const once(events.begin(), events.end());
    EXPECT_EQ(once.size(), rows);
    return once;
}

TEST(Collect, EventRowsAreTheColumnsOfTheSchema) {
    auto const schema = schema_of_events();
    model::validate(schema);
    auto const columns = model::flatten(schema.tables[0]);
    ASSERT_EQ(columns.size(), EventRows::kColumns);
    EventRows rows;
    auto const bytes = make_fragment(7, 5, 3, 10);
    std::vector<readout::FragmentView> const fragments = {readout::FragmentView(bytes), readout::FragmentView(bytes)};
    for (int i = 0; i < 3; ++i) rows.add({.run = 7, .event = 5, .fragments = fragments});
    auto const spans = rows.columns();
    auto const items = rows.items();
    for (std::size_t i = 0; i < columns.size(); ++i)
        EXPECT_EQ(spans[i].size(), items[i] * columns[i].item_bytes()) << columns[i].path;
    rows.clear();
    EXPECT_EQ(rows.items(), items);
}

class CollectInto : public ::testing::TestWithParam<char const*> {};

TEST_P(CollectInto, AFileHoldsEveryEventOnceAndHandlersForgetThem) {
    testing::Directory const directory;
    TestHandler one({}), two({.sources = {9}});
    auto const path = directory.file(GetParam());
    auto writer = create(path);
    Collector collector(*writer, options_for({&one, &two}));
    collector.run();
    EXPECT_EQ(collector.rows(), 5000u);
    EXPECT_EQ(collector.not_cleared(), 0u);
    EXPECT_EQ(one.cleared(), 5000u);
    EXPECT_EQ(two.cleared(), 5000u);
    writer->close(testing::kTimeoutNs);
    auto const events = check_file(path, 3, 100);
    EXPECT_EQ(events.size(), 5000u);
    EXPECT_EQ(*events.begin(), 1000u);
}

INSTANTIATE_TEST_SUITE_P(Containers, CollectInto, ::testing::Values("run.h5", "run.root"));

TEST(Collect, SoManyEventsAndNoMoreAreTakenAndCleared) {
    testing::Directory const directory;
    TestHandler one({});
    auto options = options_for({&one});
    options.max_events = 100;
    auto writer = create(directory.file("run.h5"));
    {
        Collector collector(*writer, options);
        collector.run();
        EXPECT_EQ(collector.rows(), 100u);
    }
    writer->close(testing::kTimeoutNs);
    EXPECT_EQ(check_file(directory.file("run.h5"), 2, 100).size(), 100u);
    EXPECT_EQ(one.cleared(), 100u);
}

TEST(Collect, OnlyCompleteEventsWhereAskedFor) {
    testing::Directory const directory;
    TestHandler one({.absent_every = 100, .incomplete_every = 10});
    auto options = options_for({&one});
    options.complete_only = true;
    auto writer = create(directory.file("run.h5"));
    Collector collector(*writer, options);
    collector.run();
    EXPECT_EQ(collector.rows(), 4500u);
    EXPECT_EQ(collector.left_out(), 450u);
    EXPECT_EQ(one.cleared(), 5000u);
    writer->close(testing::kTimeoutNs);
}

// A disk whose syncs wait until they may go on.
class PausedStorage final : public storage::Storage {
  public:
    PausedStorage(std::shared_ptr<Storage> inner, std::atomic<bool> const& paused)
        : inner_(std::move(inner)), paused_(paused) {}
    std::string const& path() const override { return inner_->path(); }
    std::string engine() const override { return inner_->engine(); }
    void read(std::uint64_t offset, std::span<std::byte> bytes) const override { inner_->read(offset, bytes); }
    void write(std::uint64_t offset, std::span<std::byte const> bytes) override { inner_->write(offset, bytes); }
    std::uint64_t size() const override { return inner_->size(); }
    void resize(std::uint64_t size_bytes) override { inner_->resize(size_bytes); }
    void reserve(std::uint64_t offset, std::uint64_t bytes) override { inner_->reserve(offset, bytes); }
    void sync() override {
        while (paused_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        inner_->sync();
    }
    std::unique_ptr<storage::WriteQueue> write_queue(std::size_t depth) override { return inner_->write_queue(depth); }

  private:
    std::shared_ptr<Storage> inner_;
    std::atomic<bool> const& paused_;
};

TEST(Collect, NothingIsClearedBeforeItsRowsAreDurable) {
    std::atomic<bool> paused = false;
    auto const file = std::make_shared<PausedStorage>(storage::make_memory_storage("run.h5"), paused);
    dataset::CreateOptions create_options;
    create_options.commit.flush_interval_ns = 5'000'000;
    auto const& format = format::hdf5::files::hdf5_format();
    auto writer = dataset::Writer::create_on(file, storage::make_memory_storage("run.h5.journal"), format,
                                             format.make_head(schema_of_events(), {}, {}), create_options);
    paused = true; // a flush that has begun before covers nothing of what comes
    TestHandler one({.events = 3000});
    Collector collector(*writer, options_for({&one}));
    std::jthread runner([&] { collector.run(); });
    while (collector.rows() < 3000) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    EXPECT_EQ(one.cleared(), 0u);
    EXPECT_GT(collector.not_cleared(), 40u);
    paused = false;
    runner.join();
    EXPECT_EQ(one.cleared(), 3000u);
    writer->close(testing::kTimeoutNs);
}

TEST(Collect, ACollectorThatGoesBeforeItsRowsAreDurableLeavesThemToTheNext) {
    testing::Directory const directory;
    TestHandler one({.events = 1000});
    {
        dataset::CreateOptions never;
        never.commit.flush_interval_ns = 1'000'000'000'000;
        auto const writer = dataset::Writer::create(directory.file("lost.h5"), schema_of_events(), never);
        auto options = options_for({&one});
        options.settle_ns = 50'000'000;
        Collector collector(*writer, options);
        collector.run();
        EXPECT_EQ(collector.rows(), 1000u);
    }
    EXPECT_EQ(one.cleared(), 0u);
    auto const writer = create(directory.file("next.h5"));
    Collector next(*writer, options_for({&one}));
    next.run();
    writer->close(testing::kTimeoutNs);
    EXPECT_EQ(check_file(directory.file("next.h5"), 2, 100).size(), 1000u);
    EXPECT_EQ(next.counters().again, 1000u);
    EXPECT_EQ(one.cleared(), 1000u);
}

} // namespace
} // namespace thalweg::record
