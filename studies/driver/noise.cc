#include <fmt/format.h>

#include "studies/driver/material.h"
#include "studies/driver/pulses.h"

namespace thalweg::study {
namespace {

model::Schema schema_with(std::uint64_t columns) {
    if (columns == 1) { // the waveform only
        return {{{"rows", {{"waveform", model::Kind::scalar, model::Scalar::uint16, {kSamples}, {}, "", ""}}, ""}}};
    }
    model::Table table{"rows", {}, ""};
    for (std::uint64_t i = 0; i < columns; ++i) {
        table.fields.push_back(
            {fmt::format("value{}", i), model::Kind::scalar, model::Scalar::float64, {}, {}, "", ""});
    }
    return {{table}};
}

// Makes one row at a time.
std::uint64_t append_noise(dataset::Producer& producer, std::uint64_t bytes) {
    std::uint64_t row_bytes = 0;
    std::vector<std::span<std::byte const>> columns;
    std::vector<std::vector<std::byte>> values;
    for (auto const& column : producer.columns()) {
        values.emplace_back(column.item_bytes());
        row_bytes += column.item_bytes();
    }
    std::uint64_t state = 1;
    auto const rows = bytes / row_bytes;
    for (std::uint64_t row = 0; row < rows; ++row) {
        columns.clear();
        for (auto& value : values) {
            for (auto& byte : value) byte = std::byte((state = state * 6364136223846793005u + 1) >> 56);
            columns.push_back(value);
        }
        producer.append(1, columns);
    }
    return rows * row_bytes;
}

} // namespace

// Makes bytes that do not compress.
Material noise(std::size_t producers, std::uint64_t bytes, std::uint64_t columns) {
    return {schema_with(columns), ".root", std::vector<std::string>(producers, "rows"), [=](std::size_t) -> Rows {
                return [=](dataset::Producer& producer) { return append_noise(producer, bytes / producers); };
            }};
}

} // namespace thalweg::study
