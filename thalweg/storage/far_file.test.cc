#include "thalweg/storage/far_file.h"

#include <gtest/gtest.h>
#include <numeric>
#include <stdexcept>

#include "thalweg/base/error.h"

namespace thalweg::storage {
namespace {

// Bytes that count up, and a note of what each thread asked for.
class FarFileTest : public ::testing::Test {
  protected:
    static constexpr std::uint64_t kBytes = 1 << 20;

    FarFileTest()
        : content(kBytes, '\0'), file("far.h5", kBytes, [this](std::vector<ByteRange> const& ranges) {
              requests.push_back(ranges);
              std::vector<std::string> given;
              for (auto const& range : ranges) given.push_back(content.substr(range.offset, range.size_bytes));
              return given;
          }) {
        std::iota(content.begin(), content.end(), '\0');
    }

    std::string read(std::uint64_t offset, std::size_t size_bytes) const {
        std::string bytes(size_bytes, '?');
        file.read(offset, std::as_writable_bytes(std::span(bytes)));
        return bytes;
    }
    void expect_right(std::uint64_t offset, std::size_t size_bytes) const {
        EXPECT_EQ(read(offset, size_bytes), content.substr(offset, size_bytes)) << offset << " " << size_bytes;
    }

    std::string content;
    std::vector<std::vector<ByteRange>> requests;
    FarFile file;
};

TEST_F(FarFileTest, WhatIsFetchedIsAskedForOnceAndTogether) {
    auto const kept = file.fetch({{500'000, 100}, {1000, 50}, {2000, 50}, {900'000, 10}});
    ASSERT_EQ(requests.size(), 1u);
    ASSERT_EQ(requests[0].size(), 3u) << "neighbours are one range";
    EXPECT_EQ(requests[0][0].offset, 1000u);
    EXPECT_EQ(requests[0][0].size_bytes, 1050u);
    for (std::uint64_t const offset : {1000, 1500, 2000}) expect_right(offset, 50);
    expect_right(500'000, 100);
    expect_right(500'099, 1);
    EXPECT_EQ(requests.size(), 1u);
    expect_right(500'050, 51); // ends behind it
    expect_right(3000, 10);
    EXPECT_EQ(requests.size(), 3u);
}

TEST_F(FarFileTest, ItIsKeptAsLongAsAReaderKeepsIt) {
    auto const longer = file.fetch({{0, 100'000}});
    auto shorter = file.fetch({{50'000, 10}});
    expect_right(50'000, 2000); // from the longer one, though the other begins nearer
    EXPECT_EQ(requests.size(), 2u);
    auto const same_place = file.fetch({{0, 10}});
    expect_right(0, 5000);
    EXPECT_EQ(requests.size(), 3u);
    {
        auto const gone = file.fetch({{200'000, 1000}});
        expect_right(200'000, 1000);
        EXPECT_EQ(requests.size(), 4u);
    }
    expect_right(200'000, 1000);
    EXPECT_EQ(requests.size(), 5u);
}

TEST_F(FarFileTest, NothingBehindTheEndIsAskedFor) {
    EXPECT_THROW(read(kBytes, 1), base::SystemError);
    EXPECT_THROW(read(kBytes - 1, 2), base::SystemError);
    EXPECT_THROW(read(~0ull, 2), base::SystemError);
    EXPECT_EQ(file.fetch({{kBytes, 1}, {~0ull, ~0ull}, {5, ~0ull}, {7, 0}}), nullptr);
    EXPECT_TRUE(requests.empty());
    expect_right(kBytes - 1, 1);
    read(kBytes, 0);
}

TEST_F(FarFileTest, WhoGivesTooLittleOrTooMuchIsNotBelieved) {
    content.resize(1000);
    EXPECT_THROW(read(500, 501), base::SystemError);
    EXPECT_THROW(file.fetch({{500, 501}}), base::SystemError);
    FarFile const none("none", 10, [](auto const&) { return std::vector<std::string>(); });
    std::byte one;
    EXPECT_THROW(none.read(0, {&one, 1}), base::SystemError);
    FarFile const more("more", 10, [](auto const&) { return std::vector<std::string>{"ab"}; });
    EXPECT_THROW(more.read(0, {&one, 1}), base::SystemError);
    FarFile const broken("broken", 10,
                         [](auto const&) -> std::vector<std::string> { throw std::runtime_error("no network"); });
    EXPECT_THROW(broken.read(0, {&one, 1}), std::runtime_error);
}

TEST_F(FarFileTest, IsNotChanged) { EXPECT_THROW(file.resize(0), base::UsageError); }

} // namespace
} // namespace thalweg::storage
