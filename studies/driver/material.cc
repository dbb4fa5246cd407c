#include "studies/driver/material.h"

#include "thalweg/base/error.h"

namespace thalweg::study {

Material material_from(Arguments& arguments, std::size_t producers, std::string const& usually,
                       std::uint64_t usual_bytes) {
    auto const data = arguments.text("data", usually);
    auto const bytes = arguments.number("bytes", usual_bytes);
    auto const columns = arguments.number("columns", 1); // number of noise columns
    auto const batch_rows = arguments.number("batch-rows", 0);
    if (data == "pulses" && batch_rows > 0) return pulse_batches(producers, bytes, batch_rows);
    if (data == "pulses") return pulses(producers, bytes);
    if (data == "events") return events(producers, bytes);
    if (data == "noise") return noise(producers, bytes, columns);
    if (data == "folder") return columns_in(arguments.text("folder"));
    base::fail_usage({"--data " + data + " means nothing", "", "take pulses, events, noise or folder"});
}

} // namespace thalweg::study
