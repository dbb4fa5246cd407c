// A number means the same bytes for ever, and the newest one shows what is true now.
#include "thalweg/dataset/complete/numbered_images.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <thread>

#include "thalweg/base/checksum.h"
#include "thalweg/dataset/test_live_pulses.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

std::uint64_t digest_of(FileImage const& image) {
    std::vector<std::byte> bytes(image.file->size());
    image.file->read(0, bytes);
    return base::xxh3(bytes);
}

class NumberedImagesOf : public ::testing::Test {
  protected:
    NumberedImagesOf() : writer_(Writer::create(run(), pulses(kSamples), often_flushed())) {}

    std::string run() const { return directory_.file("run.h5"); }

    void append(std::uint64_t first, std::uint64_t rows) {
        if (!producer_) producer_.emplace(writer_->producer("pulses"));
        PulseRows(0, first, rows, kSamples).append_to(*producer_);
    }

    void close() {
        producer_->finish();
        writer_->close(kTimeoutNs);
    }

    NewestImage with(std::uint64_t rows, NumberedImages& images) {
        while (true) {
            auto newest = images.newest(run());
            if (newest.unfinished->unfinished->report.tables[0].rows == rows) return newest;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }

    Directory directory_;
    std::unique_ptr<Writer> writer_;
    std::optional<Producer> producer_;
    NumberedImages images_{{.pause_ns = 0, .times_of_making = 0}};
};

TEST_F(NumberedImagesOf, ARunHasAnotherImageOnceItHasMoreRows) {
    append(0, 1'000);
    auto const first = with(1'000, images_);
    auto const digest = digest_of(*images_.find(first.number, run()));
    EXPECT_EQ(images_.find(first.number, run()), first.unfinished);
    EXPECT_EQ(images_.find(first.number + 100, run()), nullptr);
    append(1'000, 1'000);
    auto const second = with(2'000, images_);
    EXPECT_GT(second.number, first.number);
    close();
    auto const closed = images_.newest(run());
    EXPECT_GT(closed.number, second.number);
    EXPECT_FALSE(closed.unfinished);
    EXPECT_EQ(closed.size_bytes, std::filesystem::file_size(run()));
    std::filesystem::remove(run());
    EXPECT_EQ(digest_of(*images_.find(first.number, run())), digest);
}

TEST_F(NumberedImagesOf, AnImageIsTheNewestAsLongAsNothingChanges) {
    append(0, 100);
    with(100, images_);
    std::uint64_t last = 0;
    for (int same = 0; same < 3; std::this_thread::sleep_for(std::chrono::milliseconds(50))) {
        auto const number = images_.newest(run()).number;
        same = number == last ? same + 1 : 0;
        last = number;
    }
    producer_->abandon("the test");
    writer_->abandon();
    auto const left = images_.newest(run());
    EXPECT_GT(left.number, last);
    EXPECT_FALSE(left.unfinished->unfinished->is_written);
}

TEST_F(NumberedImagesOf, AnImageIsTheNewestForAMoment) {
    NumberedImages patient({.pause_ns = 3'600'000'000'000});
    append(0, 100);
    close();
    auto const first = patient.newest(run());
    std::filesystem::resize_file(run(), std::filesystem::file_size(run()) + 1);
    EXPECT_EQ(patient.newest(run()).number, first.number);
    EXPECT_GT(images_.newest(run()).size_bytes, first.size_bytes);
}

TEST_F(NumberedImagesOf, AClosedFileIsOpenedWhenItIsAskedFor) {
    append(0, 100);
    close();
    auto const first = images_.newest(run());
    EXPECT_EQ(images_.newest(run()).number, first.number);
    auto const file = images_.find(first.number, run());
    auto const digest = digest_of(*file);
    std::filesystem::rename(run(), directory_.file("before.h5"));
    std::filesystem::copy_file(directory_.file("before.h5"), run());
    auto const second = images_.newest(run());
    EXPECT_GT(second.number, first.number);
    EXPECT_EQ(digest_of(*images_.find(first.number, run())), digest);
    std::filesystem::remove(run());
    EXPECT_THROW(images_.find(second.number, run()), base::UsageError);
    EXPECT_THROW(images_.newest(run()), base::UsageError);
}

TEST_F(NumberedImagesOf, AFileThatWasReplacedBeforeItWasOpenedHasNoImageOfThisNumber) {
    append(0, 100);
    close();
    auto const first = images_.newest(run());
    std::filesystem::resize_file(run(), std::filesystem::file_size(run()) + 1);
    EXPECT_EQ(images_.find(first.number, run()), nullptr);
    EXPECT_NE(images_.find(images_.newest(run()).number, run()), nullptr);
}

TEST_F(NumberedImagesOf, TheLeastUsedAreGivenUp) {
    NumberedImages few({.most_open = 2, .pause_ns = 0, .times_of_making = 0});
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t rows = 100; rows <= 300; rows += 100) {
        append(rows - 100, 100);
        numbers.push_back(with(rows, few).number);
    }
    EXPECT_EQ(few.find(numbers.front(), run()), nullptr);
    EXPECT_NE(few.find(numbers.back(), run()), nullptr);
    NumberedImages small({.most_memory_bytes = 1, .pause_ns = 0, .times_of_making = 0});
    auto const first = with(300, small);
    EXPECT_NE(small.find(first.number, run()), nullptr);
    append(300, 100);
    EXPECT_NE(small.find(with(400, small).number, run()), nullptr);
    EXPECT_EQ(small.find(first.number, run()), nullptr);
    writer_->abandon();
}

} // namespace
} // namespace thalweg::dataset
