#include "thalweg/source/compass_record.h"

#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/source/compass.h"

namespace thalweg::source {
namespace {

constexpr std::uint16_t kMagic = 0xCAE0;
constexpr std::uint16_t kMagicMask = 0xFFF0;

// These limits are well above what any crate holds: CoMPASS did not write larger numbers.
constexpr unsigned kMaxBoard = 255;
constexpr unsigned kMaxChannel = 1023;

bool is_header(std::uint16_t value) { return (value & kMagicMask) == kMagic; }

std::uint16_t first_number(std::span<std::byte const> bytes) {
    std::uint16_t first = 0;
    if (bytes.size() >= sizeof first) std::memcpy(&first, bytes.data(), sizeof first);
    return first;
}

CompassContent content_of(std::uint16_t header) {
    return {.energy = (header & 1) != 0,
            .energy_calibrated = (header & 2) != 0,
            .energy_short = (header & 4) != 0,
            .waveform = (header & 8) != 0};
}

} // namespace

bool begins_like_compass(std::span<std::byte const> bytes) { return is_header(first_number(bytes)); }

CompassRecords::CompassRecords(std::span<std::byte const> bytes, std::string name, std::optional<std::uint16_t> header)
    : bytes_(bytes), name_(std::move(name)) {
    if (header && !is_header(*header))
        base::fail_usage({fmt::format("0x{:04X} is no CoMPASS header", *header), "", "give 0xCAE0 to 0xCAEF"});
    auto const given = header;
    auto const first = first_number(bytes);
    if (is_header(first)) {
        if (given && *given != first)
            base::fail_usage({fmt::format("{} has the header 0x{:04X}, not 0x{:04X}", name_, first, *given), "",
                              "leave --compass-header out"});
        header = first;
        offset_ = sizeof first;
    }
    if (!header)
        base::fail_data({fmt::format("{} is no CoMPASS file: offset 0", name_),
                         bytes.size() < sizeof first ? fmt::format("it has {} bytes", bytes.size())
                                                     : fmt::format("0x{:04X} instead of 0xCAE0 to 0xCAEF", first),
                         "only the first file of a split run has the header: give its first two bytes, such as "
                         "0xCAED, with --compass-header"});
    content_ = content_of(*header);
}

namespace {

// Raised within this file if the bytes end before a record does.
struct EndOfBytes {
    std::uint64_t wanted_bytes;
};

} // namespace

bool CompassRecords::next(CompassRecord& record) {
    if (offset_ == bytes_.size()) return false;
    record_offset_ = offset_;
    try {
        take_record(record);
    } catch (EndOfBytes const& end) {
        auto const left = bytes_.size() - offset_;
        if (records_ == 0)
            fail(fmt::format("{} bytes should follow at offset {}, {} are left", end.wanted_bytes, offset_, left));
        wanted_bytes_ = offset_ - record_offset_ + end.wanted_bytes;
        offset_ = record_offset_; // the program that wrote it has ended within this record, or its length is damaged
        return false;
    }
    ++records_;
    return true;
}

void CompassRecords::take_record(CompassRecord& record) {
    take(record.board);
    take(record.channel);
    take(record.timestamp_ps);
    if (content_.energy) take(record.energy);
    if (content_.energy_calibrated) take(record.energy_calibrated);
    if (content_.energy_short) take(record.energy_short);
    take(record.flags);
    if (record.board > kMaxBoard || record.channel > kMaxChannel)
        fail(fmt::format("board {}, channel {}: there are no such", record.board, record.channel));
    if (content_.waveform) {
        std::uint8_t code;
        std::uint32_t samples;
        take(code);
        take(samples);
        record.samples = take_bytes(2 * std::uint64_t{samples});
    }
}

template <typename Value> void CompassRecords::take(Value& value) {
    std::memcpy(&value, take_bytes(sizeof value).data(), sizeof value);
}

std::span<std::byte const> CompassRecords::take_bytes(std::uint64_t count) {
    if (count > bytes_.size() - offset_) throw EndOfBytes{count};
    auto const taken = bytes_.subspan(offset_, count);
    offset_ += count;
    THALWEG_ASSERT(record_offset_ <= offset_ && offset_ <= bytes_.size(), "a record lies within the file");
    return taken;
}

void CompassRecords::fail(std::string const& why) const {
    base::fail_data({fmt::format("{}: record {} at offset {} is damaged", name_, records_, record_offset_), why});
}

} // namespace thalweg::source
