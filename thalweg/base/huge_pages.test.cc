#include "thalweg/base/huge_pages.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>

#include "thalweg/base/memory.h"

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

TEST(HugePages, ReturnAllAddressesToTheSystem) {
    // The kernel counts mappings: what was mapped for the alignment has to be gone with the buffer.
    auto const mappings = [] {
        std::ifstream maps("/proc/self/maps");
        std::size_t count = 0;
        for (std::string line; std::getline(maps, line);) ++count;
        return count;
    };
    auto const before = mappings();
    for (int i = 0; i < 100; ++i) AlignedBuffer const buffer(kHugePageBytes + 4096, PageSize::huge);
    EXPECT_LE(mappings(), before + 2);
}

} // namespace
} // namespace thalweg::base
