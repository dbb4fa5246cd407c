// Parses the records of a CoMPASS file byte by byte. Little endian, packed.
//   file:   header u16 = 0xCAE0 + bits: 1 energy, 2 calibrated energy, 4 short energy, 8 waveform; then records
//   record: board u16, channel u16, time u64 (ps), [energy u16], [calibrated energy f64], [short energy u16],
//           flags u32, and, if there are waveforms: code u8, number of samples u32, samples u16 each
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace thalweg::source {

struct CompassContent {
    bool energy = false;
    bool energy_calibrated = false;
    bool energy_short = false;
    bool waveform = false;
};

struct CompassRecord {
    std::uint16_t board = 0;
    std::uint16_t channel = 0;
    std::uint64_t timestamp_ps = 0;
    std::uint16_t energy = 0;
    double energy_calibrated = 0;
    std::uint16_t energy_short = 0;
    std::uint32_t flags = 0;
    std::span<std::byte const> samples; // two bytes per sample
};

class CompassRecords {
  public:
    // `header` is for a file that has none. Throws base::DataError if there is neither.
    CompassRecords(std::span<std::byte const> bytes, std::string name, std::optional<std::uint16_t> header);

    CompassContent const& content() const { return content_; }
    // Returns false at the end, or if a record asks for more bytes than are left: the file was cut there, or the number
    // of samples in this record is damaged. Throws base::DataError with the offset of a record that is damaged for
    // certain, or if the first one asks for more than there is.
    bool next(CompassRecord& record);
    // After the end, returns how many bytes of a record are left that does not fit into the file.
    std::uint64_t left_over_bytes() const { return bytes_.size() - offset_; }
    // The same: returns how many bytes that record asks for at least.
    std::uint64_t wanted_bytes() const { return wanted_bytes_; }
    std::uint64_t offset() const { return offset_; }

  private:
    void take_record(CompassRecord& record);
    template <typename Value> void take(Value& value);
    std::span<std::byte const> take_bytes(std::uint64_t count);
    [[noreturn]] void fail(std::string const& why) const;

    std::span<std::byte const> bytes_;
    std::string name_;
    CompassContent content_;
    std::size_t offset_ = 0;
    std::size_t record_offset_ = 0;
    std::uint64_t records_ = 0;
    std::uint64_t wanted_bytes_ = 0;
};

} // namespace thalweg::source
