// A file that was completed by a process that died before the journal was removed: it is completed once more, and loses
// nothing by it.
#include <gtest/gtest.h>
#include <hdf5.h>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/complete/complete.h"
#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/complete/take_over.h"
#include "thalweg/dataset/read/verify.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/dataset/test_bad_day.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

constexpr std::uint64_t kRows = 500;

// A file whose first bytes state its length, least significant byte first or last.
struct Case {
    std::string name;
    std::uint64_t low_byte_at;
    int next_byte;
};

std::ostream& operator<<(std::ostream& out, Case const& tried) { return out << tried.name; }

class CompleteAgain : public ::testing::TestWithParam<Case> {
  protected:
    void SetUp() override {
        auto options = small_run_options();
        options.shared = true;
        options.layout.wide_codec = options.layout.narrow_codec = "lz4"; // which both containers have
        auto const writer = Writer::create(path_, events(), options);
        auto producer = writer->producer("events");
        append_events(producer, 0, 0, kRows);
        producer.finish();
        writer->abandon();
        take_over(path_, "try"); // its memory is in the journal now
        before_ = bytes_of(path_);
        copy_journal(std::filesystem::path(path_).parent_path(), kept_);
        complete_run(*file(), RunPlace(path_).open_journal(storage::OpenMode::read_write), format_for(path_), {});
    }

    std::unique_ptr<storage::Storage> file() const {
        return storage::open_file_storage(path_, storage::OpenMode::read_write);
    }

    // With its segments.
    static void copy_journal(std::filesystem::path const& from, std::filesystem::path const& to) {
        std::filesystem::create_directory(to);
        for (auto const& each : std::filesystem::directory_iterator(from)) {
            if (each.path().string().find(".journal") == std::string::npos) continue;
            std::filesystem::copy_file(each.path(), to / each.path().filename(),
                                       std::filesystem::copy_options::overwrite_existing);
        }
    }

    Directory const directory_;
    std::string const path_ = directory_.file(GetParam().name);
    std::filesystem::path const kept_ = directory_.file("kept"); // its journal, before it was completed
    std::vector<std::byte> before_;                              // it was completed
};

TEST_P(CompleteAgain, WhatIsBehindItsEndIsCutOff) {
    auto const size = file()->size();
    file()->resize(size + base::kMiB);
    EXPECT_EQ(recover(path_).report.tables[0].rows, kRows);
    EXPECT_EQ(file()->size(), size);
    EXPECT_EQ(expect_right(*file()), (RowCounts{{0, kRows}}));
}

// A power cut in the midst of that, on a disk that took its last write in two parts.
TEST_P(CompleteAgain, WhereItsLastWriteIsTorn) {
    auto const after = bytes_of(path_);
    for (std::size_t whole = 4; whole < 512; whole += 12) { // bytes of it
        for (bool const is_front : {true, false}) {
            auto const from = is_front ? 0 : whole, to = is_front ? whole : 512;
            overwrite(path_, 0, after);
            file()->resize(after.size());
            overwrite(path_, from, std::span(before_).subspan(from, to - from));
            copy_journal(kept_, std::filesystem::path(path_).parent_path());
            EXPECT_EQ(recover(path_).report.tables[0].rows, kRows) << whole;
            EXPECT_EQ(expect_right(*file()), (RowCounts{{0, kRows}})) << whole;
            EXPECT_EQ(verify(path_).faults, 0) << whole;
        }
    }
}

// As a program does that adds to the file: of a ROOT file its end and the date of its directory change.
void add_to(std::string const& path) {
    if (path.ends_with(".h5")) {
        auto const file = ::H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
        auto const space = ::H5Screate(H5S_SCALAR);
        auto const attribute = ::H5Acreate2(file, "note", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT);
        EXPECT_GE(attribute, 0);
        ::H5Aclose(attribute);
        ::H5Sclose(space);
        EXPECT_GE(::H5Fclose(file), 0);
        return;
    }
    auto const file = storage::open_file_storage(path, storage::OpenMode::read_write);
    std::array<std::byte, 8> end;
    file->read(12, end);
    end[6] ^= std::byte{1}; // 256 bytes more or less
    file->write(12, end);
    std::array<std::byte, 1> second;
    file->read(169, second);
    second[0] ^= std::byte{1};
    file->write(169, second);
}

// Its journal was left by a close that died behind its last write but one: the file is complete, and stays what it is.
TEST_P(CompleteAgain, WhatAnotherProgramHasAddedStays) {
    add_to(path_);
    auto const changed = bytes_of(path_);
    copy_journal(kept_, std::filesystem::path(path_).parent_path());
    auto const report = recover(path_).report;
    EXPECT_EQ(report.tables[0].rows, kRows);
    ASSERT_EQ(report.notes.size(), 1u);
    EXPECT_NE(report.notes[0].find("another program has changed it"), std::string::npos) << report.notes[0];
    EXPECT_TRUE(bytes_of(path_) == changed);
}

// So are runs that go on: while they are open, too, any process can tell to which run the file belongs.
TEST_P(CompleteAgain, ARunGoesOnBehindATornLastWrite) {
    auto const after = bytes_of(path_);
    int resumed = 0;
    CreateOptions resumed_options;
    resumed_options.shared = true;
    for (std::size_t whole = 4; whole < 512; whole += 60) {
        for (bool const is_front : {true, false}) {
            auto const from = is_front ? 0 : whole, to = is_front ? whole : 512;
            overwrite(path_, 0, after);
            file()->resize(after.size());
            overwrite(path_, from, std::span(before_).subspan(from, to - from));
            copy_journal(kept_, std::filesystem::path(path_).parent_path());
            std::unique_ptr<Writer> writer;
            try {
                writer = Writer::resume(path_, {}, resumed_options);
            } catch (base::UsageError const& error) {
                EXPECT_NE(std::string(error.what()).find("it is complete"), std::string::npos) << error.what();
                continue;
            }
            ++resumed;
            EXPECT_TRUE(format_for(path_).run_id_of(*file()).has_value()) << whole;
            writer->close(kTimeoutNs);
            EXPECT_EQ(expect_right(*file()), (RowCounts{{0, kRows}})) << whole;
            EXPECT_EQ(verify(path_).faults, 0) << whole;
        }
    }
    EXPECT_GT(resumed, 3);
}

// One bit of the length that it states for itself was damaged.
TEST_P(CompleteAgain, WhatIsInFrontOfItsEndIsNever) {
    auto const before = bytes_of(path_);
    for (int byte = 0; byte < 3; ++byte) {
        auto const at = GetParam().low_byte_at + static_cast<std::uint64_t>(byte * GetParam().next_byte);
        for (int bit = 0; bit < 8; ++bit) {
            auto const damaged = before[at] ^ std::byte{1} << bit;
            overwrite(path_, at, std::span(&damaged, 1));
            auto const again = directory_.file("again");
            std::filesystem::copy_file(journal_path(path_), again);
            try {
                recover(path_);
            } catch (base::DataError const&) {
                // It may say so.
            }
            EXPECT_GE(file()->size(), before.size()) << "byte " << byte << ", bit " << bit;
            std::filesystem::rename(again, journal_path(path_));
            overwrite(path_, 0, before);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Containers, CompleteAgain, ::testing::Values(Case{"run.h5", 28, 1}, Case{"run.root", 15, -1}));

} // namespace
} // namespace thalweg::dataset
