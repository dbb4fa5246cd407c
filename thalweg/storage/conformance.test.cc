// What every storage promises, tried on all of them.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "thalweg/base/error.h"
#include "thalweg/base/memory.h"
#include "thalweg/base/units.h"
#include "thalweg/storage/probe.h"
#include "thalweg/storage/test_directory.h"
#include "thalweg/storage/test_faulty.h"
#include "thalweg/storage/uring_queue.h"

namespace thalweg::storage {
namespace {

using Bytes = std::vector<std::byte>;
using base::kBlockBytes;

struct Kind {
    char const* name;
    std::function<std::unique_ptr<Storage>(std::string const& path)> make;
};

void PrintTo(Kind const& kind, std::ostream* out) { *out << kind.name; }

Kind file_kind(char const* name, Engine engine) {
    return {name, [=](std::string const& path) { return open_file_storage(path, OpenMode::create_new, engine); }};
}

Kind faulty_kind(char const* name, Kind const& inner) {
    return {name, [=](std::string const& path) {
                FaultPlan plan;
                plan.short_write_chance = 0.5;
                return std::make_unique<FaultyStorage>(inner.make(path), std::make_shared<Faults>(plan));
            }};
}

Kind const kMemory{"memory", [](std::string const& path) { return make_memory_storage(path); }};

std::unique_ptr<Storage> make_or_skip_reason(Kind const& kind, std::string const& path, std::string& reason) {
    try {
        return kind.make(path);
    } catch (base::UsageError const& error) {
        reason = error.what(); // no direct I/O, or no io_uring, on this machine
        return nullptr;
    }
}

class Conformance : public testing::TestWithParam<Kind> {
  protected:
    void SetUp() override {
        std::string reason;
        storage_ = make_or_skip_reason(GetParam(), path_, reason);
        if (storage_ == nullptr) GTEST_SKIP() << reason;
    }

    Bytes random_bytes(std::size_t size_bytes) {
        Bytes bytes(size_bytes);
        std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random_()); });
        return bytes;
    }

    std::size_t random_below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }

    Bytes read(std::uint64_t offset, std::size_t size_bytes) const {
        Bytes bytes(size_bytes, std::byte{0xee});
        storage_->read(offset, bytes);
        return bytes;
    }

    Bytes all() const { return read(0, storage_->size()); }

    TestDirectory directory_;
    std::string path_ = directory_.path("file");
    std::unique_ptr<Storage> storage_;
    std::mt19937_64 random_{20261120};
};

TEST_P(Conformance, BeginsEmptyAndKnowsItsName) {
    EXPECT_EQ(storage_->size(), 0u);
    EXPECT_EQ(storage_->path(), path_);
    EXPECT_FALSE(storage_->engine().empty());
}

TEST_P(Conformance, RandomWritesAtOddOffsetsReadBackLikeAModel) {
    Bytes model;
    for (int step = 0; step < 200; ++step) {
        auto const offset = random_below(300'000);
        auto const bytes = random_bytes(1 + random_below(step % 10 == 0 ? 100'000 : 700));
        storage_->write(offset, bytes);
        if (model.size() < offset + bytes.size()) model.resize(offset + bytes.size());
        std::ranges::copy(bytes, model.begin() + static_cast<std::ptrdiff_t>(offset));
        ASSERT_EQ(storage_->size(), model.size());
    }
    EXPECT_EQ(all(), model);
    for (int step = 0; step < 200; ++step) {
        auto const offset = random_below(model.size());
        auto const count = random_below(model.size() - offset);
        auto const begin = model.begin() + static_cast<std::ptrdiff_t>(offset);
        ASSERT_EQ(read(offset, count), Bytes(begin, begin + static_cast<std::ptrdiff_t>(count)));
    }
}

TEST_P(Conformance, WhatWasNeverWrittenReadsAsZero) {
    storage_->write(100'000'001, random_bytes(1));
    EXPECT_EQ(read(60'000'000, 9000), Bytes(9000));
}

TEST_P(Conformance, ReadingPastTheEndNamesFileAndOffset) {
    storage_->write(0, random_bytes(1000));
    Bytes bytes(2);
    for (std::uint64_t const offset : {999ull, 1000ull, 5'000'000ull}) {
        try {
            storage_->read(offset, bytes);
            FAIL() << "read at " << offset;
        } catch (base::SystemError const& error) {
            EXPECT_EQ(error.code, ENODATA);
            EXPECT_NE(std::strstr(error.what(), path_.c_str()), nullptr) << error.what();
            EXPECT_NE(std::strstr(error.what(), ("offset " + std::to_string(offset)).c_str()), nullptr) << error.what();
        }
    }
    EXPECT_NO_THROW(storage_->read(1000, {}));
}

TEST_P(Conformance, ReserveGrowsAndChangesNoBytes) {
    auto const bytes = random_bytes(70'000);
    storage_->write(5, bytes);
    storage_->reserve(4096, 3'000'000);
    EXPECT_EQ(storage_->size(), 3'004'096u);
    EXPECT_EQ(read(5, bytes.size()), bytes);
    EXPECT_EQ(read(70'005, 3'004'096 - 70'005), Bytes(3'004'096 - 70'005));
    storage_->reserve(0, 10);
    EXPECT_EQ(storage_->size(), 3'004'096u);
}

TEST_P(Conformance, ShrinkingForgetsAndGrowingGivesZeros) {
    storage_->write(0, random_bytes(10'000));
    auto const head = read(0, 4321);
    storage_->resize(4321);
    EXPECT_EQ(all(), head);
    storage_->resize(10'000);
    EXPECT_EQ(read(4321, 10'000 - 4321), Bytes(10'000 - 4321));
    EXPECT_EQ(read(0, 4321), head);
}

TEST_P(Conformance, SyncSucceedsAtAnyMoment) {
    storage_->sync();
    storage_->write(1, random_bytes(3));
    storage_->sync();
    storage_->sync();
}

// Writes `count` blocks of changing sizes through one queue, between offsets that no other call uses.
void pump(Storage& storage, std::uint64_t begin, std::size_t count, std::size_t depth, unsigned seed) {
    std::mt19937_64 random(seed);
    base::AlignedBuffer const buffer(depth * 4 * kBlockBytes);
    auto const queue = storage.write_queue(depth);
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < depth; ++i) free.push_back(i);
    std::map<std::uint64_t, std::size_t> tokens; // token → place in the buffer
    std::vector<Completion> completions(3);
    auto const reap = [&] {
        auto const reaped = queue->reap(completions, true);
        ASSERT_GE(reaped, 1u);
        for (std::size_t i = 0; i < reaped; ++i) {
            ASSERT_EQ(completions[i].error, 0);
            auto const place = tokens.extract(completions[i].token);
            ASSERT_FALSE(place.empty()) << "a token that was not in flight: " << completions[i].token;
            free.push_back(place.mapped());
        }
    };
    for (std::size_t i = 0; i < count; ++i) {
        while (free.empty()) ASSERT_NO_FATAL_FAILURE(reap());
        auto const place = free.back();
        free.pop_back();
        auto const bytes = buffer.bytes().subspan(place * 4 * kBlockBytes, (1 + random() % 4) * kBlockBytes);
        std::ranges::fill(bytes, static_cast<std::byte>(i % 251 + 1));
        tokens[~i] = place; // tokens use all 64 bits
        queue->submit(begin + i * 4 * kBlockBytes, bytes, ~i);
        ASSERT_EQ(queue->in_flight(), tokens.size());
    }
    while (queue->in_flight() > 0) ASSERT_NO_FATAL_FAILURE(reap());
    EXPECT_TRUE(tokens.empty());
    EXPECT_EQ(queue->reap(completions, true), 0u) << "waiting for nothing must not block";
}

void check_pumped(Storage const& storage, std::uint64_t begin, std::size_t count, unsigned seed) {
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < count; ++i) {
        Bytes bytes((1 + random() % 4) * kBlockBytes);
        storage.read(begin + i * 4 * kBlockBytes, bytes);
        ASSERT_EQ(bytes, Bytes(bytes.size(), static_cast<std::byte>(i % 251 + 1))) << "write " << i;
    }
}

TEST_P(Conformance, EveryQueuedWriteEndsOnceAtAnyDepth) {
    for (std::size_t depth = 1; depth <= 8; ++depth) {
        ASSERT_NO_FATAL_FAILURE(pump(*storage_, depth * 300 * kBlockBytes, 40, depth, static_cast<unsigned>(depth)));
    }
    storage_->sync();
    for (unsigned depth = 1; depth <= 8; ++depth) check_pumped(*storage_, depth * 300 * kBlockBytes, 40, depth);
}

TEST_P(Conformance, TwoThreadsWithAQueueEach) {
    constexpr std::uint64_t kFar = 40 * base::kMiB;
    storage_->reserve(0, 2 * kFar);
    {
        std::jthread const first([&] { pump(*storage_, 0, 100, 4, 1); });
        std::jthread const second([&] { pump(*storage_, kFar, 100, 4, 2); });
    }
    check_pumped(*storage_, 0, 100, 1);
    check_pumped(*storage_, kFar, 100, 2);
}

TEST_P(Conformance, SubmitMakesRoomByItself) {
    base::AlignedBuffer const buffer(kBlockBytes);
    auto const queue = storage_->write_queue(2);
    for (std::uint64_t i = 0; i < 20; ++i) queue->submit(i * kBlockBytes, buffer.bytes(), i);
    EXPECT_EQ(queue->in_flight(), 20u);
    std::vector<Completion> completions(64);
    std::vector<std::uint64_t> tokens;
    while (queue->in_flight() > 0) {
        auto const reaped = queue->reap(completions, true);
        for (std::size_t i = 0; i < reaped; ++i) tokens.push_back(completions[i].token);
    }
    std::ranges::sort(tokens);
    ASSERT_EQ(tokens.size(), 20u);
    for (std::uint64_t i = 0; i < 20; ++i) EXPECT_EQ(tokens[i], i);
}

TEST_P(Conformance, AQueueThatGoesHasWrittenWhatItWasGiven) {
    {
        base::AlignedBuffer const buffer(8 * kBlockBytes);
        std::ranges::fill(buffer.bytes(), std::byte{7});
        auto const queue = storage_->write_queue(8);
        for (std::uint64_t i = 0; i < 8; ++i) {
            queue->submit(i * kBlockBytes, buffer.bytes().subspan(i * kBlockBytes, kBlockBytes), i);
        }
    }
    EXPECT_EQ(all(), Bytes(8 * kBlockBytes, std::byte{7}));
}

TEST_P(Conformance, QueuedAndDirectWritesSeeEachOther) {
    base::AlignedBuffer const buffer(2 * kBlockBytes);
    auto const queue = storage_->write_queue(1);
    std::vector<Completion> completions(1);
    for (int round = 0; round < 50; ++round) {
        std::ranges::fill(buffer.bytes(), static_cast<std::byte>(round));
        queue->submit(0, buffer.bytes(), 0);
        ASSERT_EQ(queue->reap(completions, true), 1u);
        ASSERT_EQ(read(0, 2 * kBlockBytes), Bytes(2 * kBlockBytes, static_cast<std::byte>(round)));
        storage_->write(100, Bytes(5000, std::byte{0xaa}));
        ASSERT_EQ(read(5099, 2), (Bytes{std::byte{0xaa}, static_cast<std::byte>(round)}));
    }
}

TEST_P(Conformance, WritesBesideQueuesReadBackLikeAModel) {
    storage_->write(0, random_bytes(10'001));
    Bytes model = all();
    for (int step = 0; step < 100; ++step) {
        auto const offset = random_below(300'000);
        auto const bytes = random_bytes(1 + random_below(step % 10 == 0 ? 3'000'000 : 9000));
        storage_->write_beside_queues(offset, bytes);
        model.resize(std::max(model.size(), offset + bytes.size()));
        std::ranges::copy(bytes, model.begin() + static_cast<std::ptrdiff_t>(offset));
        ASSERT_GE(storage_->size(), model.size()); // whole blocks, or not
        ASSERT_EQ(read(0, model.size()), model);
        model.resize(storage_->size());
    }
    EXPECT_EQ(all(), model);
}

// Programs that read the file make folios of the page cache which hold the places of several writes. A direct write
// into one that is dirty lets the next sync fail.
// Programs that read the file make folios of the page cache that hold many blocks. If one is dirty when a direct write
// into it ends, the next sync fails.
TEST_P(Conformance, WritesBesideQueuesLetNoSyncFailWhileTheFileIsRead) {
    if (storage_->engine().ends_with("memory")) GTEST_SKIP() << "its reads and writes of one byte are a race, not I/O";
    constexpr std::uint64_t kBlocks = 512; // the odd ones are of the queue
    storage_->reserve(0, kBlocks * kBlockBytes);
    std::atomic<bool> ends = false;
    std::jthread const reader([&] {
        while (!ends) static_cast<void>(read(0, kBlocks * kBlockBytes));
    });
    std::jthread const writer([&] {
        for (std::uint64_t i = 0; !ends; i += 2) {
            storage_->write_beside_queues(i % kBlocks * kBlockBytes, Bytes(kBlockBytes, std::byte{2}));
        }
    });
    base::AlignedBuffer const buffer(kBlockBytes);
    auto const queue = storage_->write_queue(4);
    std::vector<Completion> completions(4);
    for (std::uint64_t i = 0; i < 2000; ++i) {
        queue->submit((2 * i + 1) % kBlocks * kBlockBytes, buffer.bytes(), i);
        if (queue->in_flight() == 4) queue->reap(completions, true);
        if (i % 100 == 99) EXPECT_NO_THROW(storage_->sync());
    }
    ends = true;
}

TEST_P(Conformance, RefusesMisalignedSubmissions) {
    base::AlignedBuffer const buffer(2 * kBlockBytes);
    auto const queue = storage_->write_queue(1);
    EXPECT_THROW(queue->submit(1, buffer.bytes(), 0), base::UsageError);
    EXPECT_THROW(queue->submit(0, buffer.bytes().first(100), 0), base::UsageError);
    EXPECT_THROW(queue->submit(0, buffer.bytes().subspan(512, kBlockBytes), 0), base::UsageError);
    EXPECT_THROW(queue->submit(0, {}, 0), base::UsageError);
    EXPECT_EQ(queue->in_flight(), 0u);
}

std::vector<Kind> all_kinds() {
    auto const posix = file_kind("posix", Engine::posix);
    auto const uring = file_kind("uring", Engine::uring);
    auto const threads = file_kind("threads", Engine::threads);
    return {posix, uring, threads, kMemory, faulty_kind("faulty_memory", kMemory), faulty_kind("faulty_uring", uring)};
}

INSTANTIATE_TEST_SUITE_P(Storages, Conformance, testing::ValuesIn(all_kinds()),
                         [](auto const& each) { return std::string(each.param.name); });

} // namespace
} // namespace thalweg::storage
