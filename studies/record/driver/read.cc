#include <algorithm>

#include "studies/record/driver/clocks.h"
#include "studies/record/driver/measurements.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/reader.h"

namespace thalweg::study {
namespace {

std::size_t widest(std::vector<model::Column> const& columns) {
    auto const narrower = [](auto const& a, auto const& b) { return a.item_bytes() < b.item_bytes(); };
    return static_cast<std::size_t>(std::max_element(columns.begin(), columns.end(), narrower) - columns.begin());
}

} // namespace

// The widest column of the first table, all of it, into memory that was touched before: once to warm the page cache,
// then several times.
Json measure_read(Arguments& arguments) {
    auto const reader = dataset::Reader::open(arguments.text("path"));
    dataset::ReadOptions options;
    options.threads = static_cast<unsigned>(arguments.number("threads", 2));
    options.check_checksums = arguments.number("checksums", 1) != 0;
    auto const passes = arguments.number("passes", 3);
    auto const column = widest(reader->head().columns.at(0));
    auto const rows = reader->rows(0);
    std::vector<std::byte> out(rows * reader->head().columns[0][column].item_bytes());
    std::vector<double> seconds;
    for (std::uint64_t pass = 0; pass <= passes; ++pass) {
        auto const begin_ns = base::monotonic_ns();
        reader->read(0, column, {0, rows}, out, options);
        if (pass > 0) seconds.push_back(seconds_since(begin_ns));
    }
    std::sort(seconds.begin(), seconds.end());
    auto const median_s = seconds.at(seconds.size() / 2);
    return {{"seconds", median_s},
            {"raw_bytes", out.size()},
            {"GB_per_s", static_cast<double>(out.size()) * 1e-9 / median_s},
            {"column", reader->head().columns[0][column].path}};
}

} // namespace thalweg::study
