#include "thalweg/storage/see_disk.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <vector>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/units.h"
#include "thalweg/storage/storage.h"
#include "thalweg/storage/test_directory.h"

namespace thalweg::storage {
namespace {

// Returns how many of the file's pages the kernel has in memory.
std::size_t pages_in_memory(std::string const& path) {
    auto const file = base::open_file(path, O_RDONLY);
    auto const size = std::filesystem::file_size(path);
    auto* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
    EXPECT_NE(mapped, MAP_FAILED);
    std::vector<unsigned char> there(size / base::kBlockBytes);
    EXPECT_EQ(::mincore(mapped, size, there.data()), 0);
    ::munmap(mapped, size);
    return static_cast<std::size_t>(std::count_if(there.begin(), there.end(), [](auto each) { return each & 1; }));
}

TEST(SeeDisk, WhatIsReadComesFromTheDisk) {
    TestDirectory const directory;
    struct ::statfs where {};
    ASSERT_EQ(::statfs(directory.path("").c_str(), &where), 0);
    if (where.f_type == TMPFS_MAGIC) GTEST_SKIP() << "the memory of tmpfs is its disk";
    auto const path = directory.path("run.h5");
    auto const file = open_file_storage(path, OpenMode::create_new, Engine::posix);
    std::vector<std::byte> const written(base::kMiB, std::byte{7});
    file->write(0, written);
    EXPECT_EQ(pages_in_memory(path), written.size() / base::kBlockBytes);
    EXPECT_EQ(see_disk(path), "");
    EXPECT_EQ(pages_in_memory(path), 0u);
    std::vector<std::byte> read(written.size());
    file->read(0, read);
    EXPECT_EQ(read, written);
}

TEST(SeeDisk, AFileThatIsNotThereIsAnError) { EXPECT_THROW(see_disk("/nowhere/run.h5"), base::SystemError); }

} // namespace
} // namespace thalweg::storage
