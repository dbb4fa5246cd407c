#include "studies/record/driver/pulses.h"

#include <cstring>
#include <fstream>

#include "studies/record/driver/clocks.h"
#include "studies/record/driver/measurements.h"

namespace thalweg::study {

source::DigitizerOptions pulse_options(std::uint32_t channels, std::uint64_t rows) {
    source::DigitizerOptions options;
    options.channels = channels;
    options.record_samples = kSamples;
    options.record_limit = rows;
    return options;
}

model::Schema schema_of(source::Source const& source) {
    model::Schema schema;
    for (auto const& stream : source.streams()) schema.tables.push_back(stream.table);
    return schema;
}

std::uint64_t record(source::StreamReader& reader, dataset::Producer& producer) {
    source::Batch batch;
    std::uint64_t bytes = 0;
    while (reader.next(batch, 0)) {
        producer.append(batch.rows, batch.columns);
        for (auto const& column : batch.columns) bytes += column.size();
    }
    return bytes;
}

std::vector<std::uint16_t> some_waveforms(std::uint64_t rows) {
    auto const reader = source::make_digitizer(pulse_options(1, rows))->open(0);
    std::vector<std::uint16_t> waveforms(rows * kSamples);
    source::Batch batch;
    for (std::uint64_t row = 0; reader->next(batch, 0); ++row) {
        std::memcpy(waveforms.data() + row * kSamples, batch.columns.back().data(), kWaveformBytes);
    }
    return waveforms;
}

Json dump_pulses(Arguments& arguments) {
    auto const waveforms = some_waveforms(arguments.number("rows", 42 * kRowsPerPage));
    std::ofstream out(arguments.text("path"), std::ios::binary);
    out.exceptions(std::ios::failbit | std::ios::badbit);
    out.write(reinterpret_cast<char const*>(waveforms.data()),
              static_cast<std::streamsize>(waveforms.size() * sizeof waveforms[0]));
    return {{"rows", waveforms.size() / kSamples}, {"samples", kSamples}};
}

Json measure_source(Arguments& arguments) {
    auto const rows = arguments.number("bytes", 1'000'000'000) / kWaveformBytes;
    auto const reader = source::make_digitizer(pulse_options(1, rows))->open(0);
    auto const begin_cpu_ns = base::thread_cpu_ns();
    source::Batch batch;
    std::uint64_t bytes = 0;
    while (reader->next(batch, 0)) {
        for (auto const& column : batch.columns) bytes += column.size();
    }
    auto const cpu_s = static_cast<double>(base::thread_cpu_ns() - begin_cpu_ns) * 1e-9;
    return {{"raw_bytes", bytes}, {"cpu_s", cpu_s}, {"cpu_s_per_GB", cpu_s / static_cast<double>(bytes) * 1e9}};
}

} // namespace thalweg::study
