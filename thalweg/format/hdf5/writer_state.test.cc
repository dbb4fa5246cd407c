#include "thalweg/format/hdf5/writer_state.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <vector>

#include "thalweg/base/error.h"
#include "thalweg/storage/failure.h"
#include "thalweg/storage/read_only.h"

namespace thalweg::format::hdf5 {
namespace {

constexpr std::array<unsigned char, 8> kSignature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

// A file that another process closes when it is read at an offset: it is shorter then, and has a superblock.
class ClosedMeanwhile final : public storage::ReadOnly {
  public:
    ClosedMeanwhile(std::size_t size, std::uint64_t when_read_at, std::size_t closed_size)
        : bytes_(size), when_read_at_(when_read_at), closed_size_(closed_size) {}

    std::string const& path() const override { return path_; }
    std::string engine() const override { return "memory"; }
    std::uint64_t size() const override { return bytes_.size(); }
    void read(std::uint64_t offset, std::span<std::byte> bytes) const override {
        if (offset == when_read_at_) {
            bytes_.resize(closed_size_);
            std::ranges::copy(std::as_bytes(std::span(kSignature)), bytes_.begin());
        }
        if (offset + bytes.size() > bytes_.size()) storage::fail_past_end(path_, offset, bytes.size(), bytes_.size());
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), bytes.size(), bytes.begin());
    }

  private:
    std::string path_ = "run.h5";
    mutable std::vector<std::byte> bytes_;
    std::uint64_t when_read_at_;
    std::size_t closed_size_;
};

TEST(WriterState, ARunThatIsClosedWhileItsSuperblockIsLookedForHasOne) {
    for (std::uint64_t at = 1024; at <= 128 << 10; at *= 2) {
        ClosedMeanwhile const file(200'000, at, 900);
        EXPECT_EQ(superblock_offset(file), 0U) << at;
    }
}

// The disk fails, and the file is as long as before.
TEST(WriterState, AReadThatFailsIsAnErrorAndNoAnswer) {
    class Failing final : public storage::ReadOnly {
      public:
        std::string const& path() const override { return path_; }
        std::string engine() const override { return "memory"; }
        std::uint64_t size() const override { return 5000; }
        void read(std::uint64_t offset, std::span<std::byte> bytes) const override {
            if (offset > 0) storage::fail_at("read", path_, offset, bytes.size(), 5);
            std::ranges::fill(bytes, std::byte{});
        }

      private:
        std::string path_ = "run.h5";
    };
    EXPECT_THROW(superblock_offset(Failing()), base::SystemError);
}

} // namespace
} // namespace thalweg::format::hdf5
