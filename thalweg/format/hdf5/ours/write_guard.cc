#include "thalweg/format/hdf5/ours/write_guard.h"

#include <array>
#include <cstring>

#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/ours/lookup3.h"

namespace thalweg::format::hdf5::ours {
namespace {

constexpr std::size_t kBaseOffset = 12, kExtensionOffset = 20; // in a superblock of version 3
constexpr std::array<unsigned char, 5> kHeaderBegin{'O', 'H', 'D', 'R', 2};
constexpr unsigned kHasTimes = 0x20, kHasPhases = 0x10, kHasOrder = 0x04, kSizeOfSize = 0x03; // flags of the header
constexpr std::size_t kChecksumBytes = 4;
constexpr unsigned char kTreeRanks = 0x13;        // the type of the message that becomes the guard,
constexpr unsigned char kGuard = 0xe0;            // and the type that it gets
constexpr unsigned char kRefusesWriters = 1 << 3; // a flag of messages

[[noreturn]] void fail() {
    base::fail_data({"the extension of the superblock is not understood", "this libhdf5 is not one that was tested"});
}

template <class Number> Number number_at(std::span<std::byte const> bytes, std::size_t offset, std::size_t size) {
    Number number{};
    if (offset > bytes.size() || size > bytes.size() - offset || size > sizeof number) fail();
    std::memcpy(&number, bytes.data() + offset, size);
    return number;
}

// The only chunk of an object header of version 2.
struct Header {
    std::size_t messages = 0;   // where they begin,
    std::size_t end = 0;        // and where they end: the checksum follows
    std::size_t head_bytes = 0; // of each message
};

Header header_at(std::span<std::byte const> bytes) {
    if (bytes.size() < kHeaderBegin.size() || std::memcmp(bytes.data(), kHeaderBegin.data(), kHeaderBegin.size()) != 0)
        fail();
    auto const flags = number_at<std::uint8_t>(bytes, 5, 1);
    std::size_t at = 6;
    if ((flags & kHasTimes) != 0) at += 16;
    if ((flags & kHasPhases) != 0) at += 4;
    auto const width = std::size_t{1} << (flags & kSizeOfSize);
    auto const size = number_at<std::uint64_t>(bytes, at, width);
    at += width;
    if (size > bytes.size() || at + size + kChecksumBytes > bytes.size()) fail();
    return {at, at + size, (flags & kHasOrder) != 0 ? std::size_t{6} : std::size_t{4}};
}

} // namespace

void refuse_writers(std::span<std::byte const> superblock, std::span<std::byte> metadata, std::uint64_t begin) {
    auto const address = number_at<std::uint64_t>(superblock, kBaseOffset, 8) +
                         number_at<std::uint64_t>(superblock, kExtensionOffset, 8); // it wraps around if there is none
    if (address < begin || address - begin > metadata.size()) fail();
    auto const extension = metadata.subspan(address - begin);
    auto const header = header_at(extension);
    for (auto at = header.messages; at + header.head_bytes <= header.end;) {
        auto const size = number_at<std::uint16_t>(extension, at + 1, 2);
        if (extension[at] == std::byte{kTreeRanks}) {
            extension[at] = std::byte{kGuard};
            extension[at + 3] = std::byte{kRefusesWriters};
            auto const checksum = lookup3(extension.first(header.end));
            std::memcpy(extension.data() + header.end, &checksum, kChecksumBytes);
            return;
        }
        at += header.head_bytes + size;
    }
    fail();
}

} // namespace thalweg::format::hdf5::ours
