// Files of the file system: modes, the choice of the engine, and what refusals by the kernel turn into.
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "thalweg/base/error.h"
#include "thalweg/base/memory.h"
#include "thalweg/base/units.h"
#include "thalweg/storage/failure.h"
#include "thalweg/storage/probe.h"
#include "thalweg/storage/test_directory.h"
#include "thalweg/storage/uring_queue.h"

namespace thalweg::storage {
namespace {

using base::kBlockBytes;

template <class Call> base::SystemError system_error_of(Call const& call) {
    try {
        call();
    } catch (base::SystemError const& error) {
        return error;
    }
    return base::SystemError("nothing was thrown");
}

bool contains(base::Error const& error, std::string const& text) {
    return std::string(error.what()).find(text) != std::string::npos;
}

class FileStorage : public testing::Test {
  protected:
    bool direct_here() const {
        std::ofstream(directory_.path("probe")) << 'x';
        return why_not_direct(directory_.path("probe")).empty();
    }

    TestDirectory directory_;
    std::string path_ = directory_.path("run.h5");
};

TEST_F(FileStorage, CreateNewRefusesAnExistingFileAndLeavesItAlone) {
    std::ofstream(path_) << "precious";
    for (auto const engine : {Engine::automatic, Engine::posix}) {
        auto const error = system_error_of([&] { open_file_storage(path_, OpenMode::create_new, engine); });
        EXPECT_EQ(error.code, EEXIST);
        EXPECT_TRUE(contains(error, path_)) << error.what();
    }
    EXPECT_EQ(std::filesystem::file_size(path_), 8u);
}

TEST_F(FileStorage, OpeningWhatIsNotThereNamesThePath) {
    for (auto const mode : {OpenMode::read_write, OpenMode::read_only}) {
        auto const error = system_error_of([&] { open_file_storage(path_, mode); });
        EXPECT_EQ(error.code, ENOENT);
        EXPECT_TRUE(contains(error, path_)) << error.what();
    }
}

TEST_F(FileStorage, ReadOnlyReadsAndRefusesEveryChange) {
    std::ofstream(path_) << "abc";
    auto const file = open_file_storage(path_, OpenMode::read_only);
    std::array<std::byte, 3> bytes{};
    file->read(0, bytes);
    EXPECT_EQ(bytes[2], std::byte{'c'});
    for (std::function<void()> const& change :
         std::initializer_list<std::function<void()>>{[&] { file->write(0, bytes); }, [&] { file->resize(1); },
                                                      [&] { file->reserve(0, 1); }, [&] { file->write_queue(1); }}) {
        auto const error = system_error_of(change);
        EXPECT_EQ(error.code, EBADF);
        EXPECT_TRUE(contains(error, "reading only")) << error.what();
    }
}

TEST_F(FileStorage, WhatWasWrittenIsThereWhenTheFileIsOpenedAgain) {
    base::AlignedBuffer const buffer(kBlockBytes);
    std::ranges::fill(buffer.bytes(), std::byte{42});
    {
        auto const file = open_file_storage(path_, OpenMode::create_new);
        file->write_queue(1)->submit(kBlockBytes, buffer.bytes(), 0);
    }
    auto const file = open_file_storage(path_, OpenMode::read_write);
    std::array<std::byte, 2> bytes{};
    file->read(2 * kBlockBytes - 2, bytes);
    EXPECT_EQ(bytes[1], std::byte{42});
}

TEST_F(FileStorage, EnginesHaveNames) {
    EXPECT_EQ(parse_engine("auto"), Engine::automatic);
    EXPECT_EQ(parse_engine("uring"), Engine::uring);
    EXPECT_EQ(parse_engine("threads"), Engine::threads);
    EXPECT_EQ(parse_engine("posix"), Engine::posix);
    EXPECT_THROW(parse_engine("Posix"), base::UsageError);
    EXPECT_THROW(parse_engine(""), base::UsageError);
}

TEST_F(FileStorage, MemoryFileSystemsGetPosixAndNothingElse) {
    if (file_system_of("/dev/shm/x") != "tmpfs") GTEST_SKIP() << "/dev/shm is no tmpfs here";
    TestDirectory const directory("/dev/shm");
    EXPECT_EQ(open_file_storage(directory.path("a"), OpenMode::create_new)->engine(), "posix");
    EXPECT_THROW(open_file_storage(directory.path("b"), OpenMode::create_new, Engine::uring), base::UsageError);
    EXPECT_THROW(open_file_storage(directory.path("b"), OpenMode::create_new, Engine::threads), base::UsageError);
    EXPECT_FALSE(std::filesystem::exists(directory.path("b"))) << "a refused file must not stay";
    EXPECT_THROW(open_file_storage(directory.path("a"), OpenMode::read_write, Engine::threads), base::UsageError);
    EXPECT_TRUE(std::filesystem::exists(directory.path("a"))) << "one that was there must";
}

TEST_F(FileStorage, RealDevicesGetDirectIo) {
    if (!direct_here()) GTEST_SKIP() << "no direct I/O here";
    auto const file = open_file_storage(path_, OpenMode::create_new);
    EXPECT_NE(file->engine().find("O_DIRECT"), std::string::npos) << file->engine();
}

TEST_F(FileStorage, TheEnvironmentForbidsIoUring) {
    if (!direct_here()) GTEST_SKIP() << "no direct I/O here";
    ::setenv("THALWEG_IO_URING", "0", 1);
    auto const engine = open_file_storage(path_, OpenMode::create_new)->engine();
    EXPECT_THROW(open_file_storage(directory_.path("b"), OpenMode::create_new, Engine::uring), base::UsageError);
    ::unsetenv("THALWEG_IO_URING");
    EXPECT_EQ(engine, "threads, O_DIRECT (no io_uring: forbidden by THALWEG_IO_URING=0)");
    EXPECT_FALSE(std::filesystem::exists(directory_.path("b")));
}

// Makes one system call fail, with EPERM as container runtimes do; for the rest of this process's life.
bool forbid(unsigned system_call, unsigned error = EPERM) {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, system_call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog const program{std::size(filter), filter};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// 0: fell back and wrote; else which step failed.
int write_without(unsigned system_call, std::string const& path) {
    if (!forbid(system_call)) return 77;
    ::unsetenv("THALWEG_IO_URING"); // the kernel is to refuse, not the environment
    auto const file = open_file_storage(path, OpenMode::create_new);
    if (file->engine() != "threads, O_DIRECT (no io_uring: Operation not permitted)") return 2;
    base::AlignedBuffer const buffer(kBlockBytes);
    auto const queue = file->write_queue(2);
    queue->submit(0, buffer.bytes(), 5);
    Completion done;
    if (queue->reap({&done, 1}, true) != 1 || done.token != 5 || done.error != 0) return 3;
    return file->size() == kBlockBytes ? 0 : 4;
}

TEST_F(FileStorage, ASystemCallFilterThatForbidsIoUringLeavesThreads) {
    if (!direct_here()) GTEST_SKIP() << "no direct I/O here";
    for (unsigned const system_call : {__NR_io_uring_setup, __NR_io_uring_enter}) {
        auto const path = directory_.path(std::to_string(system_call));
        auto const child = ::fork();
        if (child == 0) {
            int result = 1;
            try {
                result = write_without(system_call, path);
            } catch (base::Error const& error) {
                std::fprintf(stderr, "%s\n", error.what());
            }
            std::_Exit(result);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFEXITED(status));
        if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no seccomp here";
        EXPECT_EQ(WEXITSTATUS(status), 0);
    }
}

// The same file, from several processes.
constexpr std::uint64_t kTurns = 100'000, kPieceBytes = 64;

void write_pieces(std::string const& path) {
    auto const file = open_file_storage(path, OpenMode::read_write, Engine::posix);
    for (std::uint64_t turn = 0; turn < kTurns; ++turn) {
        std::array<std::byte, kPieceBytes> piece;
        piece.fill(std::byte(turn % 255 + 1));
        file->write(turn * kPieceBytes, piece);
    }
}

// Always somewhat behind the end that the other one has just given the file, or ahead of it.
void reserve_meanwhile(std::string const& path) {
    auto const file = open_file_storage(path, OpenMode::read_write, Engine::posix);
    while (file->size() < kTurns * kPieceBytes) file->reserve(file->size() / 2, file->size() / 2 + kPieceBytes);
}

// As on NFS before version 4.2.
TEST_F(FileStorage, ReservingWithoutFallocateNeverUndoesWhatAnotherProcessWrites) {
    open_file_storage(path_, OpenMode::create_new, Engine::posix);
    auto const in_child = [&](void (*work)(std::string const&)) {
        auto const child = ::fork();
        if (child == 0) {
            if (!forbid(__NR_fallocate, EOPNOTSUPP)) std::_Exit(77);
            work(path_);
            std::_Exit(0);
        }
        return child;
    };
    bool skipped = false;
    for (auto const child : {in_child(reserve_meanwhile), in_child(reserve_meanwhile), in_child(write_pieces)}) {
        int status = -1;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        skipped = skipped || (WIFEXITED(status) && WEXITSTATUS(status) == 77);
        EXPECT_TRUE(skipped || status == 0);
    }
    if (skipped) GTEST_SKIP() << "no seccomp here";
    auto const file = open_file_storage(path_, OpenMode::read_only);
    ASSERT_GE(file->size(), kTurns * kPieceBytes);
    std::vector<std::byte> bytes(kTurns * kPieceBytes);
    file->read(0, bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        ASSERT_EQ(bytes[i], std::byte(i / kPieceBytes % 255 + 1)) << "at offset " << i;
    }
}

// A limit of the file size makes real short writes: what fits is written, and going on from there fails.
class SizeLimit {
  public:
    explicit SizeLimit(std::uint64_t bytes) {
        std::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &before_);
        rlimit const limit{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~SizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

  private:
    rlimit before_{};
};

TEST_F(FileStorage, AShortWriteIsContinuedAndItsErrorReported) {
    base::AlignedBuffer const buffer(4 * kBlockBytes);
    std::ranges::fill(buffer.bytes(), std::byte{9});
    for (auto const engine : {Engine::posix, Engine::threads, Engine::uring}) {
        if (engine != Engine::posix && !direct_here()) continue;
        if (engine == Engine::uring && !why_no_uring().empty()) continue;
        auto const path = directory_.path("engine" + std::to_string(static_cast<int>(engine)));
        auto const file = open_file_storage(path, OpenMode::create_new, engine);
        auto const queue = file->write_queue(2);
        std::array<Completion, 2> done{};
        {
            SizeLimit const limit(3 * kBlockBytes);
            queue->submit(0, buffer.bytes(), 11);
            ASSERT_EQ(queue->reap(done, true), 1u);
        }
        EXPECT_EQ(done[0].token, 11u);
        EXPECT_EQ(done[0].error, EFBIG) << file->engine();
        ASSERT_EQ(file->size(), 3 * kBlockBytes) << file->engine();
        queue->submit(kBlockBytes, buffer.bytes(), 12);
        ASSERT_EQ(queue->reap(done, true), 1u);
        EXPECT_EQ(done[0].error, 0) << "a queue goes on after a failed write";
    }
}

TEST_F(FileStorage, AFailedWriteSaysWhereAndWhatToDo) {
    auto const file = open_file_storage(path_, OpenMode::create_new, Engine::posix);
    std::array<std::byte, 100> const bytes{};
    SizeLimit const limit(1000);
    auto const error = system_error_of([&] { file->write(950, bytes); });
    EXPECT_EQ(error.code, EFBIG);
    EXPECT_TRUE(contains(error, "100 bytes at offset 950 of " + path_)) << error.what();
    EXPECT_TRUE(contains(error, "ulimit")) << error.what();
}

// On a tmpfs, which refuses at once what it can never hold: a test must not fill a disk, not even for a moment.
TEST_F(FileStorage, AFullFileSystemIsSaidWithAWayOut) {
    auto const space = space_of("/dev/shm");
    if (file_system_of("/dev/shm") != "tmpfs" || space.total_bytes == 0) GTEST_SKIP() << "/dev/shm has no limit here";
    TestDirectory const directory("/dev/shm");
    auto const path = directory.path("run.h5");
    auto const file = open_file_storage(path, OpenMode::create_new, Engine::posix);
    auto const error = system_error_of([&] { file->reserve(4096, space.total_bytes + base::kGiB); });
    EXPECT_EQ(error.code, ENOSPC);
    EXPECT_TRUE(contains(error, "offset 4096 of " + path)) << error.what();
    EXPECT_TRUE(contains(error, "free some space")) << error.what();
    EXPECT_EQ(file->size(), 0u) << "refused before anything was taken";
}

// A hole takes no space: files whose offsets are larger than what is free are not refused.
TEST_F(FileStorage, SpaceBehindAHoleIsReserved) {
    TestDirectory const directory("/dev/shm");
    auto const file = open_file_storage(directory.path("run.h5"), OpenMode::create_new, Engine::posix);
    auto const offset = space_of("/dev/shm").total_bytes + base::kGiB;
    file->reserve(offset, 4096);
    EXPECT_EQ(file->size(), offset + 4096);
}

// If the space is taken in pieces, no piece is left out: neither at the end, nor in a file that had some already.
TEST_F(FileStorage, OnTmpfsAllOfTheRangeIsReserved) {
    if (file_system_of("/dev/shm") != "tmpfs") GTEST_SKIP() << "/dev/shm is no tmpfs here";
    TestDirectory const directory("/dev/shm");
    auto const path = directory.path("run.h5");
    auto const file = open_file_storage(path, OpenMode::create_new, Engine::posix);
    file->reserve(0, 2 * base::kMiB + 4096);
    file->reserve(base::kMiB + 4096, 3 * base::kMiB);
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(static_cast<std::uint64_t>(status.st_size), 4 * base::kMiB + 4096);
    EXPECT_GE(static_cast<std::uint64_t>(status.st_blocks) * 512, 4 * base::kMiB + 4096);
}

TEST_F(FileStorage, SpaceIsReservedInAFolderThatWasRenamed) {
    auto const before = directory_.path("before");
    std::filesystem::create_directory(before);
    auto const file = open_file_storage(before + "/run.h5", OpenMode::create_new, Engine::posix);
    std::filesystem::rename(before, directory_.path("after"));
    file->reserve(0, 8192);
    EXPECT_EQ(file->size(), 8192u);
}

TEST_F(FileStorage, SpaceAndFileSystemAreKnownBeforeTheFileExists) {
    EXPECT_GT(space_of(path_).free_bytes, 0u);
    EXPECT_GT(space_of("just-a-name").total_bytes, 0u);
    EXPECT_EQ(file_system_of(path_), file_system_of("."));
    EXPECT_EQ(system_error_of([] { space_of("/no/such/directory/file"); }).code, ENOENT);
}

TEST(Failure, QuotaHasItsOwnAdvice) {
    auto const error = system_error_of([] { fail_at("write", "run.h5", 4096, 10, EDQUOT); });
    EXPECT_TRUE(contains(error, "quota")) << error.what();
    EXPECT_TRUE(contains(error, "10 bytes at offset 4096 of run.h5")) << error.what();
}

} // namespace
} // namespace thalweg::storage
