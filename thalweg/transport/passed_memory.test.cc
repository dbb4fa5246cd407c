#include "thalweg/transport/passed_memory.h"

#include <array>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "thalweg/base/error.h"

namespace thalweg::transport {
namespace {

constexpr std::size_t kBytes = 1 << 16;

struct Ends {
    explicit Ends(int domain = AF_UNIX) {
        int fds[2] = {-1, -1};
        EXPECT_EQ(0, ::socketpair(domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds));
        sender = base::FileDescriptor(fds[0]), receiver = base::FileDescriptor(fds[1]);
    }
    base::FileDescriptor sender, receiver;
};

std::span<std::byte const> bytes_of(std::string const& text) { return std::as_bytes(std::span(text)); }

TEST(PassedMemory, TheOtherSideSeesWhatIsWrittenThereLater) {
    Ends const ends;
    auto const made = SealedMemory::make(kBytes);
    ASSERT_TRUE(send_with_file(ends.sender, bytes_of("here"), made.file));
    std::array<std::byte, 16> room;
    base::FileDescriptor file;
    EXPECT_EQ(receive_with_file(ends.receiver, room, file).bytes, 4u);
    ASSERT_TRUE(file);
    auto const seen = map_sealed(file, kBytes);
    std::memcpy(made.mapping.data() + kBytes - 3, "end", 3);
    EXPECT_EQ(0, std::memcmp(seen.data() + kBytes - 3, "end", 3));
}

TEST(PassedMemory, NoProcessCanShrinkItOrWriteToIt) {
    auto const made = SealedMemory::make(kBytes);
    auto const again =
        base::FileDescriptor(::open(("/proc/self/fd/" + std::to_string(made.file.get())).c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_TRUE(again);
    for (auto const* file : {&made.file, &again}) {
        EXPECT_NE(0, ::ftruncate(file->get(), 0));
        EXPECT_NE(0, ::ftruncate(file->get(), 2 * kBytes));
        EXPECT_NE(0, ::fallocate(file->get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kBytes));
        EXPECT_LT(::pwrite(file->get(), "x", 1, 0), 0);
        EXPECT_EQ(MAP_FAILED, ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->get(), 0));
        EXPECT_NE(0, ::fcntl(file->get(), F_ADD_SEALS, F_SEAL_WRITE));
    }
    auto* const mapped = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, again.get(), 0);
    ASSERT_NE(MAP_FAILED, mapped);
    EXPECT_NE(0, ::mprotect(mapped, kBytes, PROT_READ | PROT_WRITE));
    EXPECT_NE(0, ::madvise(mapped, kBytes, MADV_REMOVE));
    ::munmap(mapped, kBytes);
    std::memcpy(made.mapping.data(), "still here", 10);
}

TEST(PassedMemory, MemoryThatItsMakerCouldShrinkIsRefused) {
    base::FileDescriptor const file(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(0, ::ftruncate(file.get(), kBytes));
    EXPECT_THROW(map_sealed(file, kBytes), base::DataError);
    ASSERT_EQ(0, ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW));
    EXPECT_THROW(map_sealed(file, kBytes + 1), base::DataError);
    EXPECT_THROW(map_sealed(file, 0), base::DataError);
    EXPECT_EQ(map_sealed(file, kBytes).size(), kBytes);
    base::FileDescriptor const folder(::open("/tmp", O_RDONLY | O_CLOEXEC));
    struct stat found {};
    ASSERT_EQ(0, ::fstat(folder.get(), &found));
    EXPECT_THROW(map_sealed(folder, static_cast<std::size_t>(found.st_size)), base::DataError);
    EXPECT_THROW(map_sealed({}, kBytes), base::SystemError);
}

TEST(PassedMemory, OnlyUnixSocketsPassFiles) {
    EXPECT_TRUE(can_pass_files(Ends().sender));
    EXPECT_FALSE(can_pass_files(base::FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))));
    EXPECT_FALSE(can_pass_files({}));
}

TEST(PassedMemory, NothingIsSentToAnEndThatHasGoneOrTakesNothing) {
    auto const made = SealedMemory::make(4096);
    Ends full;
    std::array<std::byte, 4096> some = {};
    while (send_some(full.sender, some).bytes > 0) {
    }
    EXPECT_FALSE(send_with_file(full.sender, bytes_of("here"), made.file));
    Ends gone;
    gone.receiver.reset();
    EXPECT_FALSE(send_with_file(gone.sender, bytes_of("here"), made.file));
}

// Otherwise a handler could make its clients run out of descriptors.
TEST(PassedMemory, FilesThatWereNotAskedForDoNotStayOpen) {
    Ends const ends;
    auto const made = SealedMemory::make(4096);
    auto const next_fd = [] { return base::FileDescriptor(::dup(0)).get(); };
    auto const before = next_fd();
    std::array<std::byte, 16> room;
    base::FileDescriptor file;
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(send_with_file(ends.sender, bytes_of("here"), made.file));
        EXPECT_EQ(receive_with_file(ends.receiver, room, file).bytes, 4u);
        ASSERT_TRUE(send_with_file(ends.sender, bytes_of("here"), made.file));
        EXPECT_EQ(receive_some(ends.receiver, room).bytes, 4u);
    }
    EXPECT_LE(next_fd(), before + 1);
}

TEST(PassedMemory, TheEndOfAConnectionIsSeen) {
    Ends ends;
    base::FileDescriptor file;
    std::array<std::byte, 16> room;
    auto const none = receive_with_file(ends.receiver, room, file);
    EXPECT_EQ(none.bytes, 0u);
    EXPECT_FALSE(none.closed);
    ends.sender.reset();
    EXPECT_TRUE(receive_with_file(ends.receiver, room, file).closed);
}

} // namespace
} // namespace thalweg::transport
