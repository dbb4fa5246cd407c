// A fragment is what one group of streams has of one event, in one piece (docs/formats/fragment.md): the header, one
// entry for every stream of the group, and the payloads in the order in which they arrived. All numbers are little
// endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace thalweg::readout {

inline constexpr std::uint32_t kFragmentMarker = 0x46475754; // "TWGF"
inline constexpr std::uint16_t kFragmentVersion = 1;
inline constexpr std::uint32_t kMaxStreams = 64; // the largest number in one group
inline constexpr std::uint32_t kMaxFragmentBytes = 1u << 18;
inline constexpr std::uint32_t kMaxPayloadBytes = 65'535; // limit for one stream, or for one packet of a time slice
inline constexpr std::uint32_t kPayloadAlignment = 4;
// Room behind a fragment in an index, because vectors may write so far.
inline constexpr std::uint32_t kOverhangBytes = 64;

// Bits of FragmentHeader::status. 0 means that the fragment is complete and nothing was wrong.
inline constexpr std::uint32_t kIncomplete = 1u << 0; // streams are missing: those of enabled_map & ~stream_map
inline constexpr std::uint32_t kTimedOut = 1u << 1;   // it was closed because too much time went by
inline constexpr std::uint32_t kDeadLink = 1u << 2;   // a missing stream's link was dead
inline constexpr std::uint32_t kRestart =
    1u << 3; // a missing stream began later: the readout was started while the card ran
inline constexpr std::uint32_t kCrcError = 1u << 4;    // a packet had the CRC flag
inline constexpr std::uint32_t kPacketError = 1u << 5; // a packet had the error flag
inline constexpr std::uint32_t kBusy = 1u << 6;        // a packet had the busy flag
inline constexpr std::uint32_t kTruncated = 1u << 7;   // the card or the handler cut a packet
inline constexpr std::uint32_t kOverflow =
    1u << 8; // a payload did not fit and was left out: its bit in stream_map is set, its entry is empty
inline constexpr std::uint32_t kDuplicate = 1u << 9;     // a second packet of a stream was refused
inline constexpr std::uint32_t kBcidMismatch = 1u << 10; // streams disagree about the bunch crossing
inline constexpr std::uint32_t kHookFailed = 1u << 11;   // a hook refused a packet or the fragment
inline constexpr std::uint32_t kHookLate = 1u << 12;     // a hook took longer than its budget
// What went wrong with packets that came; a missing one has the bits before these.
inline constexpr std::uint32_t kErrors =
    kCrcError | kPacketError | kBusy | kTruncated | kOverflow | kDuplicate | kBcidMismatch | kHookFailed | kHookLate;
inline constexpr std::uint32_t kRelayed = 1u << 16; // the payload is a whole fragment in another format
inline constexpr std::uint32_t kTimeSlice =
    1u << 17; // `event` is a time slice; payloads are packed, each behind a PackedPayload
inline constexpr std::uint32_t kRewritten = 1u << 18; // a hook replaced the payloads

struct FragmentHeader {
    std::uint32_t marker = kFragmentMarker;
    std::uint16_t version = kFragmentVersion;
    std::uint16_t header_bytes = 0; // header and entries together; the payloads begin here
    std::uint32_t length_bytes = 0; // the whole fragment; a multiple of 4
    std::uint32_t status = 0;
    std::uint64_t event = 0; // 64 bits: epoch << 32 | ECR << 24 | L1ID
    std::uint32_t run = 0;
    std::uint32_t source_id = 0;
    std::uint64_t stream_map = 0;  // bit i: stream i arrived
    std::uint64_t enabled_map = 0; // bit i: stream i belongs to the group and is enabled
    std::uint16_t bcid = 0;
    std::uint16_t stream_count = 0; // entries behind the header; 0 for a time slice
    std::uint32_t trigger_type = 0;
    std::uint32_t build_us = 0; // time from its first packet to its closing
    std::uint32_t checksum = 0; // see checksum_of; 0: the fragment has none
};
static_assert(sizeof(FragmentHeader) == 64);
static_assert(offsetof(FragmentHeader, marker) == 0);
static_assert(offsetof(FragmentHeader, version) == 4);
static_assert(offsetof(FragmentHeader, header_bytes) == 6);
static_assert(offsetof(FragmentHeader, length_bytes) == 8);
static_assert(offsetof(FragmentHeader, status) == 12);
static_assert(offsetof(FragmentHeader, event) == 16);
static_assert(offsetof(FragmentHeader, run) == 24);
static_assert(offsetof(FragmentHeader, source_id) == 28);
static_assert(offsetof(FragmentHeader, stream_map) == 32);
static_assert(offsetof(FragmentHeader, enabled_map) == 40);
static_assert(offsetof(FragmentHeader, bcid) == 48);
static_assert(offsetof(FragmentHeader, stream_count) == 50);
static_assert(offsetof(FragmentHeader, trigger_type) == 52);
static_assert(offsetof(FragmentHeader, build_us) == 56);
static_assert(offsetof(FragmentHeader, checksum) == 60);

// The place of a stream's payload: `offset_words` * 4 bytes behind the beginning of the fragment. 0 means that there is
// none.
struct PayloadEntry {
    std::uint16_t offset_words = 0;
    std::uint16_t length_bytes = 0;
};
static_assert(sizeof(PayloadEntry) == 4);
static_assert(offsetof(PayloadEntry, offset_words) == 0);
static_assert(offsetof(PayloadEntry, length_bytes) == 2);

// The head of each payload in a time slice. The next head lies at the next multiple of 4.
struct PackedPayload {
    std::uint16_t stream = 0;
    std::uint16_t length_bytes = 0;
};
static_assert(sizeof(PackedPayload) == 4);
static_assert(offsetof(PackedPayload, stream) == 0);
static_assert(offsetof(PackedPayload, length_bytes) == 2);

constexpr std::uint32_t header_bytes(std::uint32_t streams) {
    return static_cast<std::uint32_t>(sizeof(FragmentHeader) + (streams + 1ull) / 2 * 2 * sizeof(PayloadEntry));
}

// Returns the exclusive or of two XXH3 sums, of the header's first 60 bytes and of everything behind the header's 64
// bytes. It keeps the low 32 bits and replaces 0 by 1.
std::uint32_t checksum_of(std::span<std::byte const> fragment);

struct StreamPayload {
    std::uint32_t stream = 0;
    std::span<std::byte const> bytes;
};

// Reads a fragment that another process sent: the one with which `bytes` begin; more may follow. Throws
// base::DataError, which says what is wrong and names event and source.
class FragmentView {
  public:
    explicit FragmentView(std::span<std::byte const> bytes);

    FragmentHeader const& header() const { return header_; }
    std::span<std::byte const> bytes() const { return bytes_; }
    std::span<std::byte const> body() const { return bytes_.subspan(header_.header_bytes); }
    // Returns the payload of a stream of the group, or an empty span if it has none. Not for time slices.
    std::span<std::byte const> payload(std::uint32_t stream) const;
    // Returns all payloads: of an event by stream, of a time slice in the order of arrival.
    std::vector<StreamPayload> payloads() const;
    bool is_complete() const { return (header_.status & kIncomplete) == 0; }

  private:
    std::span<std::byte const> bytes_;
    FragmentHeader header_;
};

} // namespace thalweg::readout
