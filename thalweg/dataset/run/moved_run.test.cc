// A run whose file was moved away from its journal before the journal knew of its rows.
#include "thalweg/dataset/test_bad_day.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

constexpr std::uint64_t kRowsInMemory = 3; // so few that no page holds them

CreateOptions shared_options() {
    auto options = small_run_options();
    options.shared = true;
    options.commit.flush_interval_ns = 3600'000'000'000;
    return options;
}

// All processes of it are dead, and nothing is recorded in its journal.
void leave_in_memory_alone(std::string const& path) {
    auto writer = Writer::create(path, events(), shared_options());
    auto const begun = bytes_of(journal_path(path));
    auto producer = writer->producer("events");
    append_events(producer, 0, 0, kRowsInMemory);
    writer->abandon();
    storage::open_file_storage(journal_path(path), storage::OpenMode::read_write)->resize(0);
    overwrite(journal_path(path), 0, begun);
}

TEST(MovedRun, IsNoStubIfRowsAreInMemory) {
    Directory const directory;
    auto const path = directory.file("run.h5"), away = directory.file("away.h5");
    leave_in_memory_alone(path);
    std::filesystem::rename(path, away);
    auto const said = message_of([&] { recover(path); });
    EXPECT_NE(said.find("has no file any more"), std::string::npos) << said;
    EXPECT_NE(said.find("and what its producers had in memory"), std::string::npos) << said;
    EXPECT_NE(message_of([&] { Writer::create(path, events(), shared_options()); }), "");
    std::filesystem::rename(away, path);
    EXPECT_EQ(recover(path).report.tables[0].rows, kRowsInMemory);
}

} // namespace
} // namespace thalweg::dataset
