// A creation that the machine refuses leaves nothing behind: no file, no journal, and no memory.
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <sys/resource.h>

#include "thalweg/base/test_small_shm.h"
#include "thalweg/dataset/test_bad_day.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

constexpr int kWentWrong = 90, kCreated = 91;

bool is_empty(std::string const& folder) { return std::filesystem::is_empty(folder); }

rlim_t open_files() {
    rlim_t files = 0;
    for ([[maybe_unused]] auto const& each : std::filesystem::directory_iterator("/proc/self/fd")) ++files;
    return files;
}

// Returns 0 if the creation was refused for want of open files, and kCreated if it was not refused.
int create_with(rlim_t more_files, std::string const& path, std::uint32_t nodes) {
    rlimit const limit{open_files() - 1 + more_files, open_files() - 1 + more_files};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return kWentWrong;
    auto options = small_run_options();
    options.shared = true;
    options.nodes.nodes = nodes;
    options.nodes.timeout_ns = 100'000'000;
    try {
        Writer::create(path, events(), options)->abandon();
        return kCreated;
    } catch (base::SystemError const& error) {
        if (error.code == EMFILE) return 0;
        fmt::print(stderr, "with {} files more: {}\n", more_files, error.what());
        return kWentWrong;
    } catch (base::UsageError const& error) {
        if (nodes > 1) return kCreated; // the other node has not come
        fmt::print(stderr, "with {} files more: {}\n", more_files, error.what());
        return kWentWrong;
    }
}

// One after the other, each call that needs an open file is the first one that is refused.
int create_with_few_files(std::uint32_t nodes) {
    for (rlim_t more_files = 1; more_files < 60; ++more_files) {
        Directory const directory;
        auto const path = directory.file("run.h5");
        auto const child = ::fork();
        if (child == 0) ::_exit(create_with(more_files, path, nodes));
        int status = -1;
        if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 2;
        if (WEXITSTATUS(status) == kCreated) return more_files > 4 ? 0 : 3;
        if (WEXITSTATUS(status) != 0) return WEXITSTATUS(status);
        if (!is_empty(directory.file("")) || !is_empty("/dev/shm")) {
            for (auto const& folder : {directory.file(""), std::string("/dev/shm")}) {
                for (auto const& left : std::filesystem::directory_iterator(folder))
                    fmt::print(stderr, "with {} files more {} is left\n", more_files, left.path().string());
            }
            return 4;
        }
    }
    return 5;
}

TEST(FailedCreation, LeavesNothing) {
#if defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "the sanitizer opens pipes to look at types, and calls them wrong where it cannot";
#endif
    for (std::uint32_t const nodes : {1, 2}) {
        auto const result = base::testing::in_small_shm("size=64m", [&] { return create_with_few_files(nodes); });
        if (result == base::testing::kMayNotMount) GTEST_SKIP() << "a /dev/shm of its own cannot be mounted here";
        EXPECT_EQ(result, 0) << nodes;
    }
}

// The file that it was to replace is there again, and nothing beside it.
TEST(FailedCreation, PutsBackWhatItWasToReplace) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    auto options = small_run_options();
    {
        auto const writer = Writer::create(path, events(), options);
        auto producer = writer->producer("events");
        append_events(producer, 0, 0, 20);
        producer.finish();
        writer->close(kTimeoutNs);
    }
    options.force = true;
    auto refused = options;
    refused.shared = true;
    refused.memory_folder = directory.file("no such folder");
    EXPECT_THROW(Writer::create(path, events(), refused), base::UsageError);
    EXPECT_EQ(expect_right(*storage::open_file_storage(path, storage::OpenMode::read_only)), (RowCounts{{0, 20}}));
    Writer::create(path, events(), options)->close(kTimeoutNs);
    EXPECT_EQ(expect_right(*storage::open_file_storage(path, storage::OpenMode::read_only)), RowCounts{});
    for (auto const& each : std::filesystem::directory_iterator(directory.file("")))
        EXPECT_EQ(each.path().filename(), "run.h5");
}

} // namespace
} // namespace thalweg::dataset
