#include "studies/driver/pulses.h"

#include <cstring>
#include <fstream>
#include <memory>

#include "studies/driver/clocks.h"
#include "studies/driver/material.h"
#include "studies/driver/measurements.h"
#include "thalweg/source/digitizer.h"

namespace thalweg::study {
namespace {

// Has as many channels as producers, each with `rows` records and then no more.
source::DigitizerOptions pulse_options(std::size_t channels, std::uint64_t rows) {
    source::DigitizerOptions options;
    options.channels = static_cast<std::uint32_t>(channels);
    options.record_samples = kSamples;
    options.record_limit = rows;
    return options;
}

// The waveforms one behind the other, in the order in which the card hands them out.
std::vector<std::byte> some_waveforms(std::uint64_t rows) {
    auto const reader = source::make_digitizer(pulse_options(1, rows))->open(0);
    std::vector<std::byte> waveforms(rows * kWaveformBytes);
    source::Batch batch;
    for (std::uint64_t row = 0; reader->next(batch, 0); ++row) {
        std::memcpy(waveforms.data() + row * kWaveformBytes, batch.columns.back().data(), kWaveformBytes);
    }
    return waveforms;
}

} // namespace

Material pulses(std::size_t producers, std::uint64_t bytes) {
    auto const options = pulse_options(producers, bytes / kWaveformBytes / producers);
    Material material{{}, ".h5", {}, {}};
    auto const source = source::make_digitizer(options);
    for (auto const& stream : source->streams()) {
        material.schema.tables.push_back(stream.table);
        material.tables.push_back(stream.name);
    }
    material.prepare = [options](std::size_t producer) -> Rows {
        std::shared_ptr<source::StreamReader> reader = source::make_digitizer(options)->open(producer);
        return [reader](dataset::Producer& to) {
            source::Batch batch;
            std::uint64_t appended_bytes = 0;
            while (reader->next(batch, 0)) {
                to.append(batch.rows, batch.columns);
                for (auto const& column : batch.columns) appended_bytes += column.size();
            }
            return appended_bytes;
        };
    };
    return material;
}

// The same records, many at once, from memory that no cache holds: some are made, and appended again and again.
Material pulse_batches(std::size_t producers, std::uint64_t bytes, std::uint64_t batch_rows) {
    auto material = pulses(producers, bytes);
    auto const options = pulse_options(producers, std::max<std::uint64_t>(batch_rows, 42 * kRowsPerPage));
    material.prepare = [=](std::size_t producer) -> Rows {
        auto const reader = source::make_digitizer(options)->open(producer);
        auto const columns = std::make_shared<std::vector<std::vector<std::byte>>>();
        source::Batch batch;
        while (reader->next(batch, 0)) {
            columns->resize(batch.columns.size());
            for (std::size_t i = 0; i < columns->size(); ++i)
                (*columns)[i].insert((*columns)[i].end(), batch.columns[i].begin(), batch.columns[i].end());
        }
        return [=, rows = options.record_limit](dataset::Producer& to) {
            std::uint64_t appended_bytes = 0;
            std::vector<std::span<std::byte const>> some(columns->size());
            for (std::uint64_t first = 0; appended_bytes < bytes / producers;) {
                if (first + batch_rows > rows) first = 0;
                for (std::size_t i = 0; i < some.size(); ++i) {
                    auto const item_bytes = (*columns)[i].size() / rows;
                    some[i] = std::span((*columns)[i]).subspan(first * item_bytes, batch_rows * item_bytes);
                    appended_bytes += some[i].size();
                }
                to.append(batch_rows, some);
                first += batch_rows;
            }
            return appended_bytes;
        };
    };
    return material;
}

std::vector<ColumnPages> pulse_pages(std::string const& codec) {
    return {{codec, sizeof(std::uint16_t), kRowsPerPage * kWaveformBytes, some_waveforms(42 * kRowsPerPage)}};
}

Json dump_pulses(Arguments& arguments) {
    auto const waveforms = some_waveforms(arguments.number("rows", 42 * kRowsPerPage));
    std::ofstream out(arguments.text("path"), std::ios::binary);
    out.exceptions(std::ios::failbit | std::ios::badbit);
    out.write(reinterpret_cast<char const*>(waveforms.data()), static_cast<std::streamsize>(waveforms.size()));
    return {{"rows", waveforms.size() / kWaveformBytes}, {"samples", kSamples}};
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
