// Against a file to which the same changes were made.
#include "thalweg/storage/overlay.h"

#include <gtest/gtest.h>
#include <random>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"

namespace thalweg::storage {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kTail = 8 * base::kBlockBytes;

Bytes noise(std::mt19937& random, std::size_t size) {
    Bytes bytes(size);
    for (auto& byte : bytes) byte = std::byte(random());
    return bytes;
}

Bytes all_of(Storage const& storage) {
    Bytes bytes(storage.size());
    storage.read(0, bytes);
    return bytes;
}

// A second one over the same bytes, so that a test can look at what became of the first.
class OtherName final : public Storage {
  public:
    explicit OtherName(Storage& file) : file_(file) {}
    std::string const& path() const override { return file_.path(); }
    std::string engine() const override { return file_.engine(); }
    void read(std::uint64_t offset, std::span<std::byte> bytes) const override { file_.read(offset, bytes); }
    void write(std::uint64_t, std::span<std::byte const>) override { ADD_FAILURE() << "the file is written"; }
    std::uint64_t size() const override { return file_.size(); }
    void resize(std::uint64_t) override { ADD_FAILURE() << "the file is cut"; }
    void reserve(std::uint64_t, std::uint64_t) override { ADD_FAILURE() << "the file grows"; }
    void sync() override { ADD_FAILURE() << "the file is synced"; }
    std::unique_ptr<WriteQueue> write_queue(std::size_t) override { return nullptr; }

  private:
    Storage& file_;
};

TEST(Overlay, IsWhatTheFileWouldBeWithTheSameChanges) {
    std::mt19937 random(1);
    for (int round = 0; round < 30; ++round) {
        auto const file = make_memory_storage("file");
        auto const first = noise(random, kTail - random() % 20'000 + random() % 40'000);
        file->write(0, first);
        auto const expected = make_memory_storage("expected");
        expected->write(0, first);
        expected->resize(kTail);
        Overlay overlay(std::make_unique<OtherName>(*file), kTail);
        EXPECT_EQ(all_of(overlay), all_of(*expected));
        for (int change = 0; change < 20; ++change) {
            auto const bytes = noise(random, random() % 10'000);
            auto const offset = random() % (kTail + 20'000);
            overlay.write(offset, bytes);
            expected->write(offset, bytes);
        }
        auto const size = kTail + random() % 30'000;
        overlay.resize(size);
        expected->resize(size);
        EXPECT_EQ(all_of(overlay), all_of(*expected)) << round;
        EXPECT_EQ(all_of(*file), first);

        auto const copy = make_memory_storage("copy");
        copy->write(0, std::span(first).first(std::min<std::size_t>(first.size(), kTail)));
        overlay.write_changes_to(*copy);
        EXPECT_EQ(all_of(*copy), all_of(overlay));
    }
}

TEST(Overlay, GrowingOfTheFileDoesNotShowAndItsLossIsAnError) {
    auto const file = make_memory_storage("file");
    std::mt19937 random(1);
    auto const first = noise(random, 3 * base::kBlockBytes);
    file->write(0, first);
    Overlay const overlay(std::make_unique<OtherName>(*file), kTail);
    file->write(first.size(), noise(random, kTail));
    auto expected = first;
    expected.resize(kTail);
    EXPECT_EQ(all_of(overlay), expected);
    file->resize(base::kBlockBytes);
    EXPECT_THROW(all_of(overlay), base::SystemError);
}

TEST(Overlay, BytesBehindItsEndAreAnError) {
    Overlay overlay(make_memory_storage("file"), kTail);
    Bytes bytes(2);
    EXPECT_THROW(overlay.read(kTail - 1, bytes), base::SystemError);
    overlay.reserve(kTail, 1);
    overlay.read(kTail - 1, bytes);
    EXPECT_THROW(overlay.resize(kTail - 1), base::UsageError);
}

} // namespace
} // namespace thalweg::storage
