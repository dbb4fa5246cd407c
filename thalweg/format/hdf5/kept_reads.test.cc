#include "thalweg/format/hdf5/kept_reads.h"

#include <gtest/gtest.h>
#include <random>

#include "thalweg/base/units.h"

namespace thalweg::format::hdf5 {
namespace {

// A file in which byte i is a function of i. It counts what is read.
class Counted final : public storage::ReadOnly {
  public:
    explicit Counted(std::uint64_t size_bytes) : size_bytes_(size_bytes) {}

    static std::byte value(std::uint64_t at) { return static_cast<std::byte>(at * 7 + (at >> 8) + (at >> 16)); }

    std::string const& path() const override { return path_; }
    std::string engine() const override { return "none"; }
    std::uint64_t size() const override { return size_bytes_; }
    void read(std::uint64_t offset, std::span<std::byte> bytes) const override {
        if (offset + bytes.size() > size_bytes_) base::fail_data({"past the end"});
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = value(offset + i);
        ++calls;
        read_bytes += bytes.size();
    }

    mutable std::uint64_t calls = 0;
    mutable std::uint64_t read_bytes = 0;

  private:
    std::string path_ = "counted.h5";
    std::uint64_t size_bytes_;
};

void check(KeptReads const& kept, std::uint64_t offset, std::size_t size_bytes) {
    std::vector<std::byte> bytes(size_bytes);
    kept.read(offset, bytes);
    for (std::size_t i = 0; i < size_bytes; ++i) ASSERT_EQ(bytes[i], Counted::value(offset + i)) << offset << " " << i;
}

TEST(KeptReads, GiveWhatTheFileHasWhereverItIsAsked) {
    std::mt19937_64 random(1);
    for (auto const size : {1u, 511u, 5000u, 300'000u}) {
        Counted const file(size);
        KeptReads const kept(file);
        for (int i = 0; i < 300; ++i) {
            auto const offset = random() % size;
            check(kept, offset, 1 + random() % std::min<std::uint64_t>(size - offset, 3000));
        }
        EXPECT_LE(file.read_bytes, size); // nothing twice
        EXPECT_EQ(kept.size(), size);
    }
}

TEST(KeptReads, ASmallThingCostsASmallReadAndASecondOneNothing) {
    Counted const file(64 * base::kMiB);
    KeptReads const kept(file);
    check(kept, 0, 8);
    check(kept, 1024, 32);
    check(kept, 2048, 140);
    EXPECT_EQ(file.calls, 1u); // what tells whose file it is lies in its head
    check(kept, 5'000'000, 100);
    check(kept, 5'000'010, 90);
    EXPECT_EQ(file.calls, 2u);
    EXPECT_LE(file.read_bytes, 4 * base::kKiB);
}

TEST(KeptReads, AllOfAFileTakesFewReads) {
    Counted const file(16 * base::kMiB);
    KeptReads const kept(file);
    for (std::uint64_t at = 0; at < file.size(); at += 1000)
        check(kept, at, std::min<std::size_t>(500, file.size() - at));
    EXPECT_LE(file.calls, 150u);
}

TEST(KeptReads, MemoryIsBoundedAndWhatIsReadAgainIsTheSame) {
    Counted const file(80 * base::kMiB);
    KeptReads const kept(file);
    for (int round = 0; round < 2; ++round) {
        for (std::uint64_t at = 0; at < file.size(); at += 256 * base::kKiB) check(kept, at, 512);
    }
    EXPECT_GT(file.read_bytes, file.size()); // some was forgotten
    check(kept, 100, 20 * base::kMiB);
}

TEST(KeptReads, WhatLiesBehindTheEndIsAnError) {
    Counted const file(1000);
    KeptReads const kept(file);
    std::vector<std::byte> bytes(10);
    EXPECT_THROW(kept.read(995, bytes), base::DataError);
    EXPECT_THROW(kept.read(2000, bytes), base::DataError);
}

} // namespace
} // namespace thalweg::format::hdf5
