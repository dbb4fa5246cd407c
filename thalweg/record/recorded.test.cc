#include "thalweg/record/recorded.h"

#include <fstream>
#include <gtest/gtest.h>

#include "thalweg/base/error.h"
#include "thalweg/dataset/writer.h"
#include "thalweg/record/testing.h"
#include "thalweg/record/worker.h"

namespace thalweg::record {
namespace {

using namespace testing;
using model::Field, model::Kind, model::Scalar;

template <typename Value> std::vector<std::byte> bytes(std::vector<Value> const& values) {
    auto const view = std::as_bytes(std::span(values));
    return {view.begin(), view.end()};
}

// Makes lists in lists beside a plain column.
source::RowSet nested() {
    Field const times{.kind = Kind::list, .members = {{.scalar = Scalar::float32}}};
    return {.table = {.name = "events",
                      .fields = {{.name = "timestamp", .scalar = Scalar::uint64, .unit = "ns"},
                                 {.name = "hits", .kind = Kind::list, .members = {times}},
                                 {.name = "comment", .kind = Kind::string}}},
            .rows = 3,
            .columns = {bytes<std::uint64_t>({10, 20, 30}), bytes<std::uint64_t>({2, 0, 1}),
                        bytes<std::uint64_t>({1, 0, 3}), bytes<float>({1.5f, 2.5f, 3.5f, 4.5f}),
                        bytes<std::uint64_t>({2, 0, 1}), bytes<char>({'o', 'k', '?'})}};
}

TEST(Recorded, APathThatTheSystemRefusesIsAnErrorOfTheSystem) {
    EXPECT_THROW(open_recorded("/tmp/" + std::string(300, 'x') + ".h5", {}), base::SystemError);
}

TEST(Recorded, AFileReplaysAsItWasRecorded) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    auto const source = source::make_replay({nested()}, {.loops = 2});
    auto const writer =
        dataset::Writer::create(path, {{source->streams()[0].table}}, {}, {{"clock_domain", "a sundial"}});
    Worker(writer->handle(), *source, {0}).run();
    writer->close(kTimeoutNs);

    auto const again = open_recorded(path, {});
    EXPECT_EQ(rows_of(*again, 0), rows_of(*source, 0));
    EXPECT_EQ(again->metadata().at("clock_domain"), "a sundial");
    EXPECT_EQ(again->metadata().at("input"), path);
}

TEST(Recorded, AFileWithoutARecordIsNamed) {
    auto const path = ::testing::TempDir() + "empty.BIN";
    std::ofstream(path, std::ios::binary) << "\xef\xca"; // its header, and no more
    try {
        open_recorded(path, {});
        ADD_FAILURE() << "it was taken";
    } catch (base::DataError const& error) {
        EXPECT_NE(std::string(error.what()).find("empty.BIN"), std::string::npos) << error.what();
    }
}

TEST(Recorded, FilesOfOtherKindsAreRefused) {
    EXPECT_THROW(open_recorded("notes.txt", {}), base::UsageError);
    EXPECT_THROW(open_recorded("/nowhere/run.h5", {}), base::UsageError);
    EXPECT_THROW(open_recorded("/nowhere/run.BIN", {}), base::Error);
}

} // namespace
} // namespace thalweg::record
