// The data of a recording: its tables, and what each producer appends.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "studies/driver/arguments.h"
#include "thalweg/dataset/append/producer.h"
#include "thalweg/model/schema.h"

namespace thalweg::study {

// Appends everything that one producer has, and returns the raw bytes of it.
using Rows = std::function<std::uint64_t(dataset::Producer& producer)>;

struct Material {
    model::Schema schema;
    std::string suffix;              // of a file that usually holds it
    std::vector<std::string> tables; // for each producer, the table that it appends to
    // Makes the rows of one producer, before any clock starts.
    std::function<Rows(std::size_t producer)> prepare;
};

Material pulses(std::size_t producers, std::uint64_t bytes);
Material pulse_batches(std::size_t producers, std::uint64_t bytes, std::uint64_t batch_rows);
Material events(std::size_t producers, std::uint64_t bytes);
Material columns_in(std::string const& folder);
Material noise(std::size_t producers, std::uint64_t bytes, std::uint64_t columns);

// Makes --bytes of the data that `--data` names.
Material material_from(Arguments& arguments, std::size_t producers, std::string const& usually,
                       std::uint64_t usual_bytes);

// Returns the raw pages of one column, one behind the other, as a producer would seal them.
struct ColumnPages {
    std::string codec;
    std::size_t element_bytes = 0;
    std::size_t page_bytes = 0;
    std::vector<std::byte> bytes;
};
std::vector<ColumnPages> pulse_pages(std::string const& codec);
std::vector<ColumnPages> event_pages(std::string const& codec);

} // namespace thalweg::study
