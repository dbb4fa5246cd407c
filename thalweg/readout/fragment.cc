#include "thalweg/readout/fragment.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"

namespace thalweg::readout {
namespace {

template <class T> T at(std::span<std::byte const> bytes, std::size_t offset_bytes) {
    T value;
    std::memcpy(&value, bytes.data() + offset_bytes, sizeof value);
    return value;
}

PayloadEntry entry_of(std::span<std::byte const> fragment, std::size_t stream) {
    return at<PayloadEntry>(fragment, sizeof(FragmentHeader) + stream * sizeof(PayloadEntry));
}

std::uint64_t low_bits(std::uint32_t count) { return count >= 64 ? ~0ull : (1ull << count) - 1; }

[[noreturn]] void refuse(FragmentHeader const& header, std::string const& why) {
    base::fail_data(
        {fmt::format("fragment of event {}, source {:#x}, is damaged", header.event, header.source_id), why});
}

void check_lengths(FragmentHeader const& header, std::size_t size_bytes) {
    if (header.marker != kFragmentMarker)
        base::fail_data({"these bytes are no fragment", fmt::format("the marker is {:#010x}", header.marker)});
    if (header.version != kFragmentVersion) refuse(header, fmt::format("version {} is not known", header.version));
    bool const is_slice = (header.status & kTimeSlice) != 0;
    if (header.stream_count > (is_slice ? 0 : kMaxStreams))
        refuse(header, fmt::format("it says {} streams", header.stream_count));
    if (header.header_bytes != header_bytes(header.stream_count))
        refuse(header, fmt::format("{} streams, and a header of {} bytes", header.stream_count, header.header_bytes));
    auto const length = header.length_bytes;
    if (length < header.header_bytes || length > kMaxFragmentBytes || length % kPayloadAlignment != 0)
        refuse(header, fmt::format("a length of {} bytes, with a header of {}", length, header.header_bytes));
    if (length > size_bytes) refuse(header, fmt::format("{} of its {} bytes are here", size_bytes, length));
}

void check_streams(FragmentHeader const& header) {
    auto const missing = header.enabled_map & ~header.stream_map;
    bool const is_slice = (header.status & kTimeSlice) != 0;
    if (!is_slice && (header.enabled_map & ~low_bits(header.stream_count)) != 0)
        refuse(header, fmt::format("streams {:#x} are enabled, of {}", header.enabled_map, header.stream_count));
    if ((header.stream_map & ~header.enabled_map) != 0)
        refuse(header, fmt::format("streams {:#x} came, {:#x} are enabled", header.stream_map, header.enabled_map));
    // A time slice may be complete although it has no packet of some stream.
    if (!is_slice && missing != 0 && (header.status & kIncomplete) == 0)
        refuse(header, fmt::format("streams {:#x} are missing, and it says that it is complete", missing));
}

// All streams came in their order. This is the usual case, and quick to check.
bool are_in_order(FragmentHeader const& header, std::span<std::byte const> fragment) {
    std::uint32_t end = header.header_bytes;
    for (std::uint32_t stream = 0; stream < header.stream_count; ++stream) {
        auto const entry = entry_of(fragment, stream);
        if (entry.offset_words * 4u != end) return false;
        end += (entry.length_bytes + kPayloadAlignment - 1) / kPayloadAlignment * kPayloadAlignment;
    }
    return end == header.length_bytes && header.stream_map == low_bits(header.stream_count);
}

// Payloads fill the space behind the entries, each at its own place, without gaps.
void check_entries(FragmentHeader const& header, std::span<std::byte const> fragment) {
    std::array<PayloadEntry, kMaxStreams> entries;
    std::size_t count = 0;
    for (std::uint32_t stream = 0; stream < header.stream_count; ++stream) {
        auto const entry = entry_of(fragment, stream);
        bool const came = (header.stream_map >> stream & 1) != 0;
        if (entry.offset_words != 0) entries[count++] = entry;
        if (entry.offset_words == 0 ? entry.length_bytes != 0 || (came && (header.status & kOverflow) == 0) : !came)
            refuse(header, fmt::format("stream {} {}, and its entry is {} bytes at {}", stream,
                                       came ? "came" : "did not come", entry.length_bytes, entry.offset_words * 4));
    }
    // The length decides between equal offsets: an empty payload lies where the next one begins.
    std::sort(entries.begin(), entries.begin() + count, [](PayloadEntry const& a, PayloadEntry const& b) {
        return a.offset_words != b.offset_words ? a.offset_words < b.offset_words : a.length_bytes < b.length_bytes;
    });
    std::uint64_t end = header.header_bytes;
    for (std::size_t i = 0; i < count; ++i) {
        if (std::uint64_t{entries[i].offset_words} * kPayloadAlignment != end)
            refuse(header, fmt::format("a payload begins at {}, and not at {}", entries[i].offset_words * 4, end));
        end += base::round_up(entries[i].length_bytes, kPayloadAlignment);
    }
    if (end != header.length_bytes)
        refuse(header, fmt::format("payloads end at {}, the fragment at {}", end, header.length_bytes));
}

// Visits the packed payloads one after the other, up to the end.
template <class Use> void walk_slice(FragmentHeader const& header, std::span<std::byte const> fragment, Use use) {
    std::uint64_t begin = header.header_bytes;
    while (begin < header.length_bytes) { // both are multiples of 4: a PackedPayload fits
        auto const packed = at<PackedPayload>(fragment, begin);
        begin += sizeof packed;
        auto const end = begin + base::round_up(packed.length_bytes, kPayloadAlignment);
        if (end > header.length_bytes || packed.stream >= kMaxStreams || (header.stream_map >> packed.stream & 1) == 0)
            refuse(header, fmt::format("{} bytes of stream {} at {}", packed.length_bytes, packed.stream, begin));
        use(packed, begin);
        begin = end;
    }
}

} // namespace

std::uint32_t checksum_of(std::span<std::byte const> fragment) {
    auto const head = base::xxh3(fragment.first(offsetof(FragmentHeader, checksum)));
    auto const rest = base::xxh3(fragment.subspan(sizeof(FragmentHeader)));
    return std::max(static_cast<std::uint32_t>(head ^ rest), 1u);
}

FragmentView::FragmentView(std::span<std::byte const> bytes) : bytes_(bytes) {
    if (bytes.size() < sizeof header_)
        base::fail_data({"these bytes are no fragment", fmt::format("{} bytes are too few", bytes.size())});
    std::memcpy(&header_, bytes.data(), sizeof header_);
    check_lengths(header_, bytes.size());
    bytes_ = bytes.first(header_.length_bytes);
    check_streams(header_);
    if ((header_.status & kRewritten) != 0) {
        // The hook decides what lies behind the header.
    } else if ((header_.status & kTimeSlice) != 0) {
        walk_slice(header_, bytes_, [](PackedPayload, std::uint64_t) {});
    } else if (!are_in_order(header_, bytes_)) {
        check_entries(header_, bytes_);
    }
    if (header_.checksum != 0 && header_.checksum != checksum_of(bytes_))
        refuse(header_, fmt::format("its checksum is {:#010x}, not {:#010x}", checksum_of(bytes_), header_.checksum));
}

std::span<std::byte const> FragmentView::payload(std::uint32_t stream) const {
    if (stream >= header_.stream_count || (header_.status & kRewritten) != 0) return {};
    auto const entry = entry_of(bytes_, stream);
    return entry.offset_words == 0
               ? std::span<std::byte const>{}
               : bytes_.subspan(std::size_t{entry.offset_words} * kPayloadAlignment, entry.length_bytes);
}

std::vector<StreamPayload> FragmentView::payloads() const {
    std::vector<StreamPayload> payloads;
    if ((header_.status & kRewritten) != 0) return payloads;
    if ((header_.status & kTimeSlice) != 0)
        walk_slice(header_, bytes_, [&](PackedPayload packed, std::uint64_t begin) {
            payloads.push_back({packed.stream, bytes_.subspan(begin, packed.length_bytes)});
        });
    for (std::uint32_t stream = 0; stream < header_.stream_count; ++stream)
        if (entry_of(bytes_, stream).offset_words != 0) payloads.push_back({stream, payload(stream)});
    return payloads;
}

} // namespace thalweg::readout
