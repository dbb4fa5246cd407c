// What is peculiar to memory; the rest is in conformance.test.cc.
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/storage/storage.h"

namespace thalweg::storage {
namespace {

using Bytes = std::vector<std::byte>;

Bytes read(Storage const& storage, std::uint64_t offset, std::size_t size_bytes) {
    Bytes bytes(size_bytes);
    storage.read(offset, bytes);
    return bytes;
}

TEST(Memory, ThreadsThatMeetInANewChunkLoseNothing) {
    auto const storage = make_memory_storage("m");
    constexpr std::uint64_t kStrideBytes = 3 * base::kMiB; // several writes a chunk, each from another thread
    {
        std::vector<std::jthread> threads;
        for (unsigned thread = 0; thread < 4; ++thread) {
            threads.emplace_back([&storage, thread] {
                for (std::uint64_t i = thread; i < 100; i += 4) {
                    storage->write(i * kStrideBytes, Bytes(100, static_cast<std::byte>(i + 1)));
                }
            });
        }
    }
    EXPECT_EQ(storage->size(), 99 * kStrideBytes + 100);
    for (std::uint64_t i = 0; i < 100; ++i) {
        ASSERT_EQ(read(*storage, i * kStrideBytes, 100), Bytes(100, static_cast<std::byte>(i + 1))) << i;
    }
}

TEST(Memory, OffsetsBeyondAnyFileAreRefused) {
    auto const storage = make_memory_storage("m");
    EXPECT_THROW(storage->write(~std::uint64_t{0} - 5, Bytes(10)), base::SystemError);
    EXPECT_THROW(storage->resize(~std::uint64_t{0}), base::SystemError);
    EXPECT_THROW(storage->reserve(1, ~std::uint64_t{0}), base::SystemError);
    EXPECT_EQ(storage->size(), 0u);
}

TEST(Memory, ARingKeepsWhatWasWrittenLast) {
    constexpr std::uint64_t kRingBytes = 32 * base::kMiB;
    auto const storage = make_memory_storage("m", {.ring_bytes = kRingBytes});
    storage->write(10, Bytes(100, std::byte{1}));
    storage->write(kRingBytes - 50, Bytes(100, std::byte{2}));
    EXPECT_EQ(storage->size(), kRingBytes + 50);
    EXPECT_EQ(read(*storage, kRingBytes - 50, 100), Bytes(100, std::byte{2}));
    EXPECT_EQ(read(*storage, 10, 40), Bytes(40, std::byte{2})) << "the same memory, one round later";
    EXPECT_EQ(read(*storage, 50, 60), Bytes(60, std::byte{1}));
}

} // namespace
} // namespace thalweg::storage
