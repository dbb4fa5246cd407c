#include "thalweg/source/compass.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "thalweg/source/compass_record.h"

namespace thalweg::source {
namespace {

using Records = std::vector<CompassRecord>;
using BoardChannel = std::pair<std::uint16_t, std::uint16_t>; // board, channel
using model::Field, model::Kind, model::Scalar;

// Returns the number of samples if it is the same in all records and not 0.
std::optional<std::uint64_t> fixed_samples(Records const& records) {
    auto const bytes = records.front().samples.size();
    auto const same = [&](auto const& record) { return record.samples.size() == bytes; };
    if (bytes == 0 || !std::all_of(records.begin(), records.end(), same)) return {};
    return bytes / 2;
}

Field values_field(std::optional<std::uint64_t> samples) {
    Field values{.name = "values", .scalar = Scalar::uint16, .unit = "ADC"};
    if (samples) {
        values.shape = {*samples};
        return values;
    }
    return {
        .name = "values", .kind = Kind::list, .members = {{.name = "sample", .scalar = Scalar::uint16}}, .unit = "ADC"};
}

model::Table table_of(BoardChannel address, bool many_boards, CompassContent const& content, Records const& records) {
    auto const [board, channel] = address;
    model::Table table{.name = many_boards ? fmt::format("board{}/ch{}", board, channel) : fmt::format("ch{}", channel),
                       .description = fmt::format("CAEN CoMPASS, board {}, channel {}", board, channel)};
    table.fields.push_back({.name = "timestamp",
                            .scalar = Scalar::uint64,
                            .unit = "ps",
                            .description = "of the trigger, on the digitizer's clock since start of run"});
    if (content.energy)
        table.fields.push_back({.name = "energy", .scalar = Scalar::uint16, .description = "channel of the spectrum"});
    if (content.energy_calibrated)
        table.fields.push_back({.name = "energy_calibrated",
                                .scalar = Scalar::float64,
                                .description = "in the unit that CoMPASS was calibrated in"});
    if (content.energy_short)
        table.fields.push_back(
            {.name = "energy_short", .scalar = Scalar::uint16, .description = "of the short gate, in channels"});
    table.fields.push_back({.name = "flags", .scalar = Scalar::uint32, .description = "as CoMPASS defines them"});
    if (content.waveform)
        table.fields.push_back(
            {.name = "waveform",
             .kind = Kind::record,
             .members = {{.name = "t0", .scalar = Scalar::float32, .unit = "ns", .description = "not in the file: 0"},
                         {.name = "dt",
                          .scalar = Scalar::float32,
                          .unit = "ns",
                          .description = "time from sample to sample; NaN: not known"},
                         values_field(fixed_samples(records))}});
    return table;
}

template <typename Value> std::vector<std::byte> column(Records const& records, Value const& value_of) {
    using Item = decltype(value_of(records.front()));
    std::vector<std::byte> bytes(records.size() * sizeof(Item));
    for (std::size_t i = 0; i < records.size(); ++i) {
        auto const value = value_of(records[i]);
        std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
    }
    return bytes;
}

std::vector<std::byte> all_samples(Records const& records) {
    std::vector<std::byte> bytes;
    std::size_t size_bytes = 0;
    for (auto const& record : records) size_bytes += record.samples.size();
    bytes.reserve(size_bytes);
    for (auto const& record : records) bytes.insert(bytes.end(), record.samples.begin(), record.samples.end());
    return bytes;
}

// Returns the columns in the order of model::flatten(table_of(...)).
std::vector<std::vector<std::byte>> columns_of(CompassContent const& content, Records const& records, float dt_ns) {
    using Record = CompassRecord const&;
    std::vector<std::vector<std::byte>> columns;
    columns.push_back(column(records, [](Record it) { return it.timestamp_ps; }));
    if (content.energy) columns.push_back(column(records, [](Record it) { return it.energy; }));
    if (content.energy_calibrated) columns.push_back(column(records, [](Record it) { return it.energy_calibrated; }));
    if (content.energy_short) columns.push_back(column(records, [](Record it) { return it.energy_short; }));
    columns.push_back(column(records, [](Record it) { return it.flags; }));
    if (!content.waveform) return columns;
    columns.push_back(column(records, [](Record) { return 0.0f; }));
    columns.push_back(column(records, [&](Record) { return dt_ns; }));
    if (!fixed_samples(records))
        columns.push_back(column(records, [](Record it) { return std::uint64_t{it.samples.size() / 2}; }));
    columns.push_back(all_samples(records));
    return columns;
}

float period_ns(std::uint16_t board, CompassOptions const& options, std::vector<double> const& by_board) {
    if (options.sample_period_ns) return static_cast<float>(*options.sample_period_ns);
    return board < by_board.size() ? static_cast<float>(by_board[board]) : NAN;
}

} // namespace

CompassRows parse_compass(std::span<std::byte const> bytes, std::string const& name, CompassOptions const& options,
                          std::vector<double> const& sample_period_ns) {
    CompassRecords reader(bytes, name, options.header);
    std::map<BoardChannel, Records> channels;
    for (CompassRecord record; reader.next(record);) channels[{record.board, record.channel}].push_back(record);
    if (channels.empty()) return {};
    bool const many_boards = channels.begin()->first.first != channels.rbegin()->first.first;
    CompassRows rows;
    if (reader.left_over_bytes() > 0) {
        rows.cut = fmt::format("the file ends within a record: {} bytes are left over at offset {}, where a record "
                               "asks for at least {} bytes: the file was cut there, or this record is damaged; what "
                               "follows is left out",
                               reader.left_over_bytes(), reader.offset(), reader.wanted_bytes());
    }
    for (auto const& [address, records] : channels) {
        auto const dt_ns = period_ns(address.first, options, sample_period_ns);
        rows.tables.push_back({.table = table_of(address, many_boards, reader.content(), records),
                               .rows = records.size(),
                               .columns = columns_of(reader.content(), records, dt_ns)});
    }
    return rows;
}

} // namespace thalweg::source
