// The anchor. The specification leaves out the six bytes in front, which ROOT gives every object: they count towards
// neither the checksum nor the byte count's own range, and the checksum lies outside of that range.
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thalweg/base/checksum.h"
#include "thalweg/format/rntuple/envelopes/bytes.h"
#include "thalweg/format/rntuple/envelopes/envelopes.h"

namespace thalweg::format::rntuple {
namespace {

constexpr std::size_t kHeadBytes = sizeof(std::uint32_t) + sizeof(std::uint16_t);
constexpr std::size_t kChecksumBytes = sizeof(std::uint64_t);
constexpr std::size_t kMemberBytes = 4 * sizeof(std::uint16_t) + 7 * sizeof(std::uint64_t);
static_assert(kHeadBytes + kMemberBytes + kChecksumBytes == kAnchorBytes);

constexpr std::uint32_t kByteCountMark = 0x40000000; // "a byte count follows", in ROOT's streams
constexpr std::uint32_t kByteCount = kAnchorBytes - kChecksumBytes - sizeof(std::uint32_t);
constexpr std::uint16_t kClassVersion = 2; // of the class ROOT::RNTuple, not of the format

constexpr std::uint16_t kFirstOldClassWithVersion = 4; // of the class ROOT::Experimental::RNTuple

} // namespace

std::array<std::byte, kAnchorBytes> to_bytes(Anchor const& anchor) {
    BigPutter to;
    to.put<std::uint32_t>(kByteCountMark | kByteCount);
    to.put<std::uint16_t>(kClassVersion);
    for (auto const part : {anchor.version_epoch, anchor.version_major, anchor.version_minor, anchor.version_patch}) {
        to.put<std::uint16_t>(part);
    }
    for (auto const part : {anchor.header_offset, anchor.header_stored_bytes, anchor.header_bytes, anchor.footer_offset,
                            anchor.footer_stored_bytes, anchor.footer_bytes, anchor.max_key_bytes}) {
        to.put<std::uint64_t>(part);
    }
    to.put<std::uint64_t>(base::xxh3(std::span(to.bytes()).subspan(kHeadBytes)));
    std::array<std::byte, kAnchorBytes> bytes;
    std::copy(to.bytes().begin(), to.bytes().end(), bytes.begin());
    return bytes;
}

std::string old_anchor_version(std::span<std::byte const> bytes) {
    BigTaker from(bytes, "an anchor from before the first release");
    std::uint16_t class_version = 0;
    if (bytes.size() >= kHeadBytes) {
        from.skip(sizeof(std::uint32_t));
        class_version = from.take<std::uint16_t>();
    }
    if (class_version < kFirstOldClassWithVersion || bytes.size() < kHeadBytes + 4 * sizeof(std::uint16_t))
        return fmt::format("a version before 0.2 (class version {})", class_version);
    std::array<std::uint16_t, 4> version{};
    for (auto& part : version) part = from.take<std::uint16_t>();
    return fmt::format("version {}", fmt::join(version, "."));
}

std::optional<std::string> other_version(std::span<std::byte const> bytes) {
    if (bytes.size() < kAnchorBytes) return std::nullopt;
    BigTaker from(bytes, "an anchor");
    from.skip(sizeof(std::uint32_t));
    if (auto const class_version = from.take<std::uint16_t>(); class_version < kClassVersion)
        return fmt::format("a version before 1.0 (class version {})", class_version);
    std::array<std::uint16_t, 4> version{};
    for (auto& part : version) part = from.take<std::uint16_t>();
    auto const members = bytes.subspan(kHeadBytes, bytes.size() - kHeadBytes - kChecksumBytes);
    auto const checksum = take_number<std::endian::big, std::uint64_t>(bytes.last(kChecksumBytes).data());
    if (version[0] == 1 || base::xxh3(members) != checksum) return std::nullopt; // ours, or damaged
    return fmt::format("version {}", fmt::join(version, "."));
}

// Later versions may append members: the byte count tells where the checksum lies.
Anchor parse_anchor(std::span<std::byte const> bytes, std::string const& what) {
    BigTaker from(bytes, what);
    if (bytes.size() < kAnchorBytes) from.fail("an anchor takes 78 bytes or more");
    auto const byte_count = from.take<std::uint32_t>() ^ kByteCountMark;
    if (byte_count + std::uint64_t{sizeof byte_count} + kChecksumBytes != bytes.size())
        from.fail("its byte count is wrong");
    if (from.take<std::uint16_t>() < kClassVersion) from.fail("it is of a class from before the first release");
    auto const checksum = take_number<std::endian::big, std::uint64_t>(bytes.last(kChecksumBytes).data());
    auto const members = bytes.subspan(kHeadBytes, bytes.size() - kHeadBytes - kChecksumBytes);
    if (base::xxh3(members) != checksum) from.fail("its checksum is wrong");

    Anchor anchor;
    for (auto const part :
         {&anchor.version_epoch, &anchor.version_major, &anchor.version_minor, &anchor.version_patch}) {
        *part = from.take<std::uint16_t>();
    }
    if (anchor.version_epoch != 1) from.fail("its version is " + std::to_string(anchor.version_epoch) + ".*, not 1.*");
    for (auto const part :
         {&anchor.header_offset, &anchor.header_stored_bytes, &anchor.header_bytes, &anchor.footer_offset,
          &anchor.footer_stored_bytes, &anchor.footer_bytes, &anchor.max_key_bytes}) {
        *part = from.take<std::uint64_t>();
    }
    return anchor;
}

} // namespace thalweg::format::rntuple
