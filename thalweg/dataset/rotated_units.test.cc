// Work units in files that continue each other: a key counts once in all of them, also where everything is killed.
#include <csignal>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "thalweg/base/memory.h"
#include "thalweg/dataset/append/work_unit.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/run/attach.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

constexpr std::uint64_t kUnitRows = 3; // of each unit

bool is_done(WorkUnits& units, std::int64_t key) {
    auto unit = units.begin(key);
    auto const rows = std::vector<std::int64_t>(kUnitRows, key);
    std::span<std::byte const> const columns[] = {std::as_bytes(std::span(rows))};
    unit["t"].append(kUnitRows, columns);
    return unit.commit();
}

WorkUnit begun(WorkUnits& units, std::int64_t key) {
    auto unit = units.begin(key);
    auto const rows = std::vector<std::int64_t>(kUnitRows, key);
    std::span<std::byte const> const columns[] = {std::as_bytes(std::span(rows))};
    unit["t"].append(kUnitRows, columns);
    return unit;
}

// In the table of units, which says the same as the rows.
std::set<std::int64_t> keys_in(std::string const& path) {
    auto const reader = Reader::open(path);
    std::vector<std::int64_t> rows(reader->rows(0));
    reader->read(0, 0, {0, rows.size()}, std::as_writable_bytes(std::span(rows)));
    std::map<std::int64_t, std::uint64_t> counts;
    for (auto const key : rows) ++counts[key];
    std::set<std::int64_t> keys;
    for (auto const& unit : reader->units()) {
        EXPECT_TRUE(keys.insert(unit.key.integer).second) << "twice: " << unit.key.str();
        EXPECT_EQ(counts[unit.key.integer], kUnitRows) << unit.key.str();
    }
    EXPECT_EQ(counts.size(), keys.size());
    return keys;
}

class RotatedUnits : public ::testing::TestWithParam<char const*> {
  protected:
    std::string file(int number) const { return directory.file(fmt::format("run{}{}", number, GetParam())); }
    std::unique_ptr<Writer> create() const { return Writer::create(file(1), schema(), options()); }
    static model::Schema schema() { return {{{"t", {scalar("key", model::Scalar::int64)}, ""}}}; }
    static CreateOptions options() {
        CreateOptions options;
        options.layout.narrow_page_bytes = 4096;
        options.layout.cluster_bytes = 32 << 10;
        options.write.staging.page_ring_bytes = 128 << 10;
        options.commit.flush_interval_ns = 20'000'000;
        return options;
    }

    Directory directory;
};

std::unique_ptr<Writer> rotated(Writer& writer, std::string const& path, CreateOptions const& options) {
    auto next = writer.create_next(path, options);
    writer.continue_in(*next);
    return next;
}

TEST_P(RotatedUnits, TakeEachKeyOnceInAllFiles) {
    auto first = create();
    WorkUnits worker(attach(first->handle()));
    EXPECT_TRUE(is_done(worker, 1));
    auto lost = begun(worker, 2), won = begun(worker, 3);
    auto second = rotated(*first, file(2), options());
    WorkUnits other(attach(second->handle()));
    EXPECT_TRUE(is_done(other, 2));
    EXPECT_FALSE(lost.commit()) << "taken in the next file";
    EXPECT_TRUE(won.commit());
    EXPECT_FALSE(is_done(other, 3)) << "taken in the file before, where it was open when the run went on";
    EXPECT_FALSE(is_done(other, 1));
    EXPECT_EQ(first->status().units_committed, 2u);
    EXPECT_EQ(second->status().units_committed, 1u);
    worker.finish();
    EXPECT_EQ(first->close(kTimeoutNs).report.units, 2u);

    EXPECT_TRUE(worker.is_committed(2)) << "asked of a file that is closed";
    EXPECT_EQ(worker.committed_keys().size(), 3u);
    EXPECT_TRUE(is_done(worker, 4));
    EXPECT_FALSE(is_done(worker, 1));
    auto third = rotated(*second, file(3), options());
    EXPECT_FALSE(is_done(worker, 4));
    EXPECT_TRUE(is_done(worker, 5));
    worker.finish();
    other.finish();
    second->close(kTimeoutNs);
    EXPECT_FALSE(is_done(worker, 3));
    worker.finish();
    third->close(kTimeoutNs);
    EXPECT_EQ(keys_in(file(1)), (std::set<std::int64_t>{1, 3}));
    EXPECT_EQ(keys_in(file(2)), (std::set<std::int64_t>{2, 4}));
    EXPECT_EQ(keys_in(file(3)), (std::set<std::int64_t>{5}));
}

// Before, between and behind the ends of files the table grows; each file has all of it, and leaves nothing behind.
TEST_P(RotatedUnits, HaveATableThatGrowsAndGoesWithTheLastFile) {
    constexpr std::int64_t kMany = 50'000; // some 1.5 MiB of entries
    auto first = create();
    auto const names = [](Writer const& writer) { return base::SharedMemory::list(writer.handle() + "-u"); };
    EXPECT_TRUE(names(*first).empty()) << "no unit was asked for";
    auto second = rotated(*first, file(2), options());
    WorkUnits worker(attach(second->handle()));
    for (std::int64_t key = 0; key < kMany; ++key) ASSERT_TRUE(is_done(worker, key));
    EXPECT_GE(names(*second).size(), 3u);
    EXPECT_EQ(names(*first).size(), names(*second).size());
    first->close(kTimeoutNs);
    EXPECT_TRUE(names(*first).empty());
    for (std::int64_t key = kMany; key < 3 * kMany; ++key) ASSERT_TRUE(is_done(worker, key));
    EXPECT_TRUE(names(*first).empty());
    auto third = rotated(*second, file(3), options());
    EXPECT_EQ(names(*third).size(), names(*second).size());
    worker.finish();
    second->close(kTimeoutNs);
    WorkUnits late(attach(third->handle()));
    for (std::int64_t key = 0; key < 3 * kMany; key += 997) EXPECT_TRUE(late.is_committed(key));
    EXPECT_FALSE(late.is_committed(3 * kMany));
    auto const left = third->handle();
    third->close(kTimeoutNs);
    EXPECT_TRUE(base::SharedMemory::list(left).empty());
}

TEST_P(RotatedUnits, GoOnInTheLastFileAndKnowTheKeysOfAll) {
    {
        auto first = create();
        EXPECT_TRUE(is_done(first->work_units(), 1));
        auto second = rotated(*first, file(2), options());
        EXPECT_TRUE(is_done(second->work_units(), 2));
        first->close(kTimeoutNs);
        auto third = rotated(*second, file(3), options());
        EXPECT_TRUE(is_done(third->work_units(), 3));
        third->abandon();
        second->abandon();
    }
    auto const refusal = [&](int number) { return message_of([&] { Writer::resume(file(number), {}, options()); }); };
    EXPECT_NE(refusal(2).find("it goes on in run3"), std::string::npos) << refusal(2);
    EXPECT_NE(refusal(3).find("recover " + file(2)), std::string::npos) << refusal(3);
    recover(file(2));
    std::filesystem::rename(file(1), file(9));
    EXPECT_NE(refusal(3).find(file(1)), std::string::npos) << refusal(3);
    EXPECT_NE(refusal(3).find("is not there"), std::string::npos) << refusal(3);
    std::filesystem::copy(file(2), file(1));
    EXPECT_NE(refusal(3).find("of another run"), std::string::npos) << refusal(3);
    std::filesystem::remove(file(1));
    std::filesystem::rename(file(9), file(1));
    auto third = Writer::resume(file(3), {}, options());
    EXPECT_EQ(third->work_units().committed_keys().size(), 3u);
    EXPECT_EQ(third->status().units_committed, 1u);
    EXPECT_EQ(third->status().units_not_durable, 0u);
    for (std::int64_t key = 1; key <= 3; ++key) EXPECT_FALSE(is_done(third->work_units(), key));
    EXPECT_TRUE(is_done(third->work_units(), 4));
    auto fourth = rotated(*third, file(4), options());
    EXPECT_FALSE(is_done(fourth->work_units(), 1));
    third->close(kTimeoutNs);
    fourth->close(kTimeoutNs);
    EXPECT_EQ(keys_in(file(3)), (std::set<std::int64_t>{3, 4}));
}

TEST_P(RotatedUnits, AFileThatWasNotMadeForItContinuesNothing) {
    auto const first = create();
    auto const other = Writer::create(file(2), schema(), options());
    EXPECT_NE(message_of([&] { first->continue_in(*other); }).find("create_next"), std::string::npos);
}

// Without a name in the folder of the first file a key would be asked for in vain.
TEST_P(RotatedUnits, ShareMemoryInAFolderToo) {
    auto in_folder = options();
    std::filesystem::create_directory(directory.file("memory"));
    in_folder.memory_folder = directory.file("memory");
    auto first = Writer::create(file(1), schema(), in_folder);
    auto second = rotated(*first, file(2), options()); // whatever it wishes
    EXPECT_TRUE(is_done(first->work_units(), 1));
    EXPECT_FALSE(is_done(second->work_units(), 1));
}

// Four threads commit the same keys while files follow each other; everything is killed; the last file goes on.
TEST_P(RotatedUnits, CountOnceWheneverEverythingIsKilled) {
    for (int round = 0; round < 8; ++round) {
        for (int i = 1; i < 200; ++i) std::filesystem::remove(file(i));
        int pipe[2];
        ASSERT_EQ(::pipe(pipe), 0);
        auto const child = ::fork();
        if (child == 0) {
            auto writer = create();
            std::vector<std::jthread> threads;
            for (int i = 0; i < 4; ++i) {
                threads.emplace_back([&, run = attach(writer->handle())] {
                    WorkUnits units(run);
                    for (std::int64_t key = 0;; ++key) {
                        if (is_done(units, key)) static_cast<void>(!::write(pipe[1], &key, sizeof key));
                    }
                });
            }
            for (int number = 2;; ++number) {
                ::usleep(5'000);
                auto next = rotated(*writer, file(number), options());
                writer->close(kTimeoutNs);
                writer = std::move(next);
            }
        }
        ::close(pipe[1]);
        std::set<std::int64_t> committed;
        std::int64_t key = 0;
        ASSERT_EQ(::read(pipe[0], &key, sizeof key), sizeof key);
        committed.insert(key);
        ::usleep(static_cast<useconds_t>(30'000 + 17'000 * round));
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        while (::read(pipe[0], &key, sizeof key) == sizeof key) EXPECT_TRUE(committed.insert(key).second) << key;
        ::close(pipe[0]);

        std::vector<std::string> unfinished;
        for (int number = 1; std::filesystem::exists(file(number) + ".journal") || exists(file(number)); ++number) {
            if (exists(file(number) + ".journal")) unfinished.push_back(file(number));
        }
        ASSERT_FALSE(unfinished.empty());
        auto const last = unfinished.back();
        unfinished.pop_back();
        for (auto const& path : unfinished) EXPECT_EQ(recover(path).report.units_lost, 0u);
        try {
            auto const resumed = Writer::resume(last, {}, options());
            for (auto const each : committed) EXPECT_FALSE(is_done(resumed->work_units(), each)) << each;
            resumed->close(kTimeoutNs);
        } catch (base::UsageError const& error) { // all but the last step of its creation, or its end, was done
            std::string const text = error.what();
            bool const is_known =
                text.find("nothing to resume") != text.npos || text.find("it is complete") != text.npos;
            EXPECT_TRUE(is_known) << text;
            if (exists(last + ".journal")) recover(last);
        }
        std::set<std::int64_t> there;
        for (int number = 1; exists(file(number)); ++number) {
            for (auto const each : keys_in(file(number)))
                EXPECT_TRUE(there.insert(each).second) << "in two files: " << each;
        }
        for (auto const each : committed) EXPECT_TRUE(there.contains(each)) << "lost: " << each;
    }
}

INSTANTIATE_TEST_SUITE_P(All, RotatedUnits, ::testing::Values(".h5", ".root"),
                         [](auto const& name) { return std::string(name.param).substr(1); });

} // namespace
} // namespace thalweg::dataset
