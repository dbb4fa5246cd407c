// An image against what was appended, read as the copy of its bytes that another program would have.
#include "thalweg/dataset/complete/image.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

#include "thalweg/base/checksum.h"
#include "thalweg/dataset/read/verify.h"
#include "thalweg/dataset/test_live_pulses.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

std::vector<std::byte> bytes_of(storage::Storage const& file) {
    std::vector<std::byte> bytes(file.size());
    file.read(0, bytes);
    return bytes;
}

class ImageOf : public ::testing::TestWithParam<char const*> {
  protected:
    std::string run() const { return directory_.file(std::string("run") + GetParam()); }
    std::string copy() const { return directory_.file(std::string("copy") + GetParam()); }

    void record(std::uint64_t rows) {
        writer_ = Writer::create(run(), pulses(kSamples), often_flushed());
        for (std::uint8_t number = 0; number < 3; ++number) producers_.push_back(writer_->producer("pulses"));
        append(0, rows);
    }

    void append(std::uint64_t first, std::uint64_t rows) {
        for (std::uint8_t number = 0; number < 3; ++number)
            PulseRows(number, first, rows, kSamples).append_to(producers_[number]);
    }

    FileImage image_with(std::uint64_t rows) {
        while (true) {
            auto image = image_of(run());
            if (image.unfinished->report.tables[0].rows == rows) return image;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }

    // Opens a copy of the image, which is sound and has the values of the first rows of each producer.
    std::uint64_t rows_of(storage::Storage const& image) {
        auto const bytes = bytes_of(image);
        std::ofstream(copy(), std::ios::binary)
            .write(reinterpret_cast<char const*>(bytes.data()), // NOLINT
                   static_cast<std::streamsize>(bytes.size()));
        EXPECT_TRUE(verify(copy()).faults == 0);
        std::uint64_t rows = 0;
        for (auto const& [_, count] : rows_of_producers(copy())) rows += count;
        return rows;
    }

    Directory directory_;
    std::unique_ptr<Writer> writer_;
    std::vector<Producer> producers_;
};

TEST_P(ImageOf, AnOpenRunHasItsRowsAndSaysThatItWasOpen) {
    record(1'000);
    auto const image = image_with(3'000);
    EXPECT_TRUE(image.unfinished->is_written);
    EXPECT_EQ(image.unfinished->run_id, Reader::open(run())->head().id);
    EXPECT_EQ(rows_of(*image.file), 3'000u);
    EXPECT_EQ(Reader::open(copy())->metadata().count("snapshot"), 1u);
    EXPECT_TRUE(Reader::open(run())->is_open_run());
    writer_->abandon();
}

TEST_P(ImageOf, AnImageStaysWhateverBecomesOfTheRun) {
    record(1'000);
    auto const image = image_with(3'000);
    auto const digest = base::xxh3(bytes_of(*image.file));
    append(1'000, 2'000);
    auto const later = image_with(9'000);
    EXPECT_EQ(base::xxh3(bytes_of(*image.file)), digest);
    for (auto& producer : producers_) producer.finish();
    writer_->close(kTimeoutNs);
    EXPECT_EQ(base::xxh3(bytes_of(*image.file)), digest);
    auto const closed = image_of(run());
    EXPECT_FALSE(closed.unfinished);
    EXPECT_EQ(rows_of(*closed.file), 9'000u);
    std::filesystem::remove(run());
    EXPECT_EQ(base::xxh3(bytes_of(*image.file)), digest);
    EXPECT_EQ(rows_of(*image.file), 3'000u);
    EXPECT_EQ(rows_of(*later.file), 9'000u);
}

TEST_P(ImageOf, ARunThatWasLeftHasWhatItsJournalKnows) {
    record(1'000);
    static_cast<void>(image_with(3'000));
    for (auto& producer : producers_) producer.abandon("the test");
    writer_->abandon();
    auto const image = image_of(run());
    ASSERT_TRUE(image.unfinished);
    EXPECT_FALSE(image.unfinished->is_written);
    EXPECT_EQ(rows_of(*image.file), 3'000u);
}

TEST_P(ImageOf, AClosedFileThatIsChangedIsAnError) {
    record(10);
    for (auto& producer : producers_) producer.finish();
    writer_->close(kTimeoutNs);
    auto const image = image_of(run());
    std::filesystem::resize_file(run(), std::filesystem::file_size(run()) + 1);
    EXPECT_THROW(bytes_of(*image.file), base::DataError);
}

TEST_P(ImageOf, WhatIsNotThereIsAnError) { EXPECT_THROW(image_of(run()), base::UsageError); }

INSTANTIATE_TEST_SUITE_P(Containers, ImageOf, ::testing::Values(".h5", ".root"), [](auto const& each) {
    return std::string(each.param).substr(1) == "h5" ? "HDF5" : "RNTuple";
});

} // namespace
} // namespace thalweg::dataset
