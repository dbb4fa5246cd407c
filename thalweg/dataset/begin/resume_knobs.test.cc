// With which knobs a run goes on that is resumed.
#include <csignal>
#include <functional>
#include <gtest/gtest.h>

#include "thalweg/base/units.h"
#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/read/verify.h"
#include "thalweg/dataset/testing.h"
#include "thalweg/storage/storage.h"
#include "thalweg/tuning/knobs.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

// Runs in a process that is killed as soon as the run is begun: nothing was synced behind that.
void begin_and_die(std::function<std::unique_ptr<Writer>()> const& begin) {
    run_until_killed([&] {
        auto const writer = begin();
        ::raise(SIGKILL);
    });
}

class ResumedKnobs : public ::testing::TestWithParam<char const*> {
  protected:
    void SetUp() override {
        CreateOptions options;
        options.layout.narrow_page_bytes = 2048;
        options.layout.narrow_codec = "lz4";
        options.commit.flush_interval_ns = 5'000'000;
        options.write.queue_depth = 2;
        options.whole_file_checksum = false;
        Writer::create(path, pulses(2), options)->abandon();
    }
    std::string refusal(CreateOptions const& options) const {
        return message_of([&] { Writer::resume(path, {}, options); });
    }
    static CreateOptions with(std::string const& name, std::string const& text) {
        CreateOptions options;
        tuning::set(options, name, text);
        options.given.insert(name);
        return options;
    }

    Directory directory;
    std::string const path = directory.file(std::string("run") + GetParam());
};

TEST_P(ResumedKnobs, AreThoseOfTheRunWhereNoneAreGiven) {
    auto const writer = Writer::resume(path, {}, {});
    auto const knobs = writer->head().knobs;
    EXPECT_EQ(knobs.at("narrow_page_bytes"), "2 KiB");
    EXPECT_EQ(knobs.at("narrow_codec"), "lz4");
    EXPECT_EQ(knobs.at("flush_interval"), "5 ms");
    EXPECT_EQ(knobs.at("queue_depth"), "2");
    EXPECT_EQ(knobs.at("whole_file_checksum"), "no");
    writer->close(kTimeoutNs);
    EXPECT_EQ(Reader::open(path)->head().knobs, knobs);
}

// In the file, too, and when it is resumed once more.
TEST_P(ResumedKnobs, ThatAreGivenCountFromThenOn) {
    auto options = with("flush_interval", "1 s"); // which is what it has where it is not given
    options.write.queue_depth = 3;
    Writer::resume(path, {}, options)->abandon();
    auto const writer = Writer::resume(path, {}, {});
    EXPECT_EQ(writer->head().knobs.at("flush_interval"), "1 s");
    EXPECT_EQ(writer->head().knobs.at("queue_depth"), "3");
    EXPECT_EQ(writer->head().knobs.at("narrow_page_bytes"), "2 KiB");
    writer->close(kTimeoutNs);
    EXPECT_EQ(Reader::open(path)->head().knobs.at("flush_interval"), "1 s");
    EXPECT_EQ(Reader::open(path)->head().knobs.at("queue_depth"), "3");
    EXPECT_EQ(verify(path).faults, 0u);
}

TEST_P(ResumedKnobs, ThatAreOfTheFileCannotChange) {
    EXPECT_EQ(refusal(with("narrow_page_bytes", "4 KiB")),
              "cannot resume the run at " + path +
                  " (its knob 'narrow_page_bytes' is 2 KiB and cannot change, and 4 KiB was asked for): leave it out");
    EXPECT_NE(refusal(with("narrow_codec", "none")).find("'narrow_codec' is lz4"), std::string::npos);
    EXPECT_NE(refusal(with("cluster_bytes", "6 KiB")).find("'cluster_bytes'"), std::string::npos);
    EXPECT_NE(refusal(with("memory_folder", "/tmp")).find("'memory_folder' is auto"), std::string::npos);
    Writer::resume(path, {}, with("narrow_page_bytes", "2 KiB"))->abandon(); // the same, and no preference
    Writer::resume(path, {}, with("narrow_page_bytes", "auto"))->close(kTimeoutNs);
}

// Until the first BARRIER the beginning is not durable, and a power cut may leave any part of it: all parts must be of
// the same bytes, or the file is not recognised.
TEST_P(ResumedKnobs, ThatAreGivenDoNotChangeWhatTheFileBeginsWith) {
    auto const beginning = [&] {
        auto const file = storage::open_file_storage(path, storage::OpenMode::read_only, storage::Engine::posix);
        std::vector<std::byte> bytes(2 * base::kKiB);
        file->read(0, bytes);
        return bytes;
    };
    auto options = with("extent_bytes", "1234 KiB");
    options.commit.flush_interval_ns = 3600'000'000'000;
    options.force = true;
    begin_and_die([&] { return Writer::create(path, pulses(2), options); });
    auto const created = beginning();
    begin_and_die([&] { return Writer::resume(path, {}, with("extent_bytes", "5678 KiB")); });
    EXPECT_EQ(beginning(), created);
    recover(path);
    EXPECT_EQ(Reader::open(path)->head().knobs.at("extent_bytes"), "5678 KiB");
    EXPECT_EQ(verify(path).faults, 0u);
}

// What a small disk has lowered is not another choice.
TEST_P(ResumedKnobs, ThatASmallDiskHasLoweredAreAskedForAgain) {
    auto options = with("table_page_bytes", "8 MiB"); // as if 16 had been asked for
    options.force = true;
    Writer::create(path, pulses(2), options)->abandon();
    Writer::resume(path, {}, with("table_page_bytes", "16 MiB"))->abandon();
    EXPECT_NE(refusal(with("table_page_bytes", "7 MiB")).find("'table_page_bytes'"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, ResumedKnobs, ::testing::Values(".h5", ".root"),
                         [](auto const& each) { return std::string(each.param).substr(1); });

} // namespace
} // namespace thalweg::dataset
