#include "thalweg/base/huge_pages.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "thalweg/base/memory.h"
#include "thalweg/base/units.h"

namespace thalweg::base {
namespace {

bool are_given() {
    std::ifstream setting("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string text;
    std::getline(setting, text);
    return !text.empty() && text.find("[never]") == std::string::npos;
}

TEST(HugePages, AreAlignedAndGivenWhereTheSystemHasThem) {
    AlignedBuffer const buffer(5 * kHugePageBytes / 2, PageSize::huge);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kHugePageBytes, 0U);
    EXPECT_EQ(buffer.size(), 5 * kHugePageBytes / 2);
    EXPECT_FALSE(is_in_huge_pages(buffer.bytes())); // nothing was touched
    EXPECT_TRUE(std::ranges::all_of(buffer.bytes(), [](std::byte each) { return each == std::byte{}; }));
    std::memset(buffer.data(), 1, buffer.size());
    if (!are_given()) GTEST_SKIP() << "this system gives no huge pages";
    EXPECT_TRUE(is_in_huge_pages(buffer.bytes()));
}

TEST(HugePages, AreNotSeenWhereThereAreNone) {
    AlignedBuffer const buffer(4 * kHugePageBytes);
    ASSERT_EQ(::madvise(buffer.data(), buffer.size(), MADV_NOHUGEPAGE), 0);
    std::memset(buffer.data(), 1, buffer.size());
    EXPECT_FALSE(is_in_huge_pages(buffer.bytes()));
}

// Returns how many KiB of the mapping at `address` are mapped as huge pages of shared memory.
std::uint64_t shared_huge_kib(std::byte const* address) {
    std::ifstream maps("/proc/self/smaps");
    auto const head = fmt::format("{:x}-", reinterpret_cast<std::uintptr_t>(address));
    for (std::string line; std::getline(maps, line);) {
        if (!line.starts_with(head)) continue;
        while (std::getline(maps, line))
            if (line.starts_with("ShmemPmdMapped:")) return std::stoull(line.substr(line.find(':') + 1));
    }
    return 0;
}

TEST(HugePages, SharedMemoryIsMovedIntoThemWithItsBytesAndNoMore) {
    auto const name = fmt::format("thalweg-test-huge-{}", ::getpid());
    auto const memory = SharedMemory::create(name, {8 * kHugePageBytes, 3 * kHugePageBytes});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % kHugePageBytes, 0U);
    for (std::size_t i = 0; i < 3 * kHugePageBytes; ++i) memory.data()[i] = static_cast<std::byte>(i / 7);
    if (memory.move_into_huge_pages(0, 2 * kHugePageBytes) == HugePages::none)
        GTEST_SKIP() << "this system gives no huge pages";
    EXPECT_EQ(shared_huge_kib(memory.data()), 2 * kHugePageBytes / kKiB);
    auto const other = SharedMemory::attach(name);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(other.data()) % kHugePageBytes, 0U);
    bool are_equal = true;
    for (std::size_t i = 0; i < 3 * kHugePageBytes; ++i) are_equal &= other.data()[i] == static_cast<std::byte>(i / 7);
    EXPECT_TRUE(are_equal);
    struct stat status {};
    ASSERT_EQ(::stat(SharedMemory::path_of(name).c_str(), &status), 0);
    EXPECT_EQ(static_cast<std::uint64_t>(status.st_blocks) * 512, 3 * kHugePageBytes);
}

TEST(HugePages, PrivateMemoryIsNotMovedIntoThem) {
    auto const memory = SharedMemory::create_private(4 * kHugePageBytes);
    EXPECT_EQ(memory.move_into_huge_pages(0, kHugePageBytes), HugePages::none);
}

TEST(HugePages, ReturnAllAddressesToTheSystem) {
    // The kernel counts mappings: what was mapped for the alignment has to be gone with the buffer.
    auto const mappings = [] {
        std::ifstream maps("/proc/self/maps");
        std::size_t count = 0;
        for (std::string line; std::getline(maps, line);) ++count;
        return count;
    };
    std::size_t const buffers = 100;
    auto const before = mappings();
    for (std::size_t i = 0; i < buffers; ++i) AlignedBuffer const buffer(kHugePageBytes + 4096, PageSize::huge);
    EXPECT_LT(mappings(), before + buffers / 2); // a sanitizer maps some memory of its own
}

} // namespace
} // namespace thalweg::base
