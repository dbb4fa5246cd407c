#include <algorithm>
#include <fstream>
#include <numeric>

#include "studies/driver/clocks.h"
#include "studies/driver/measurements.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/read/reader.h"

namespace thalweg::study {
namespace {

using Columns = std::vector<model::Column>;

std::size_t widest(Columns const& columns) {
    auto const narrower = [](auto const& a, auto const& b) { return a.item_bytes() < b.item_bytes(); };
    return static_cast<std::size_t>(std::max_element(columns.begin(), columns.end(), narrower) - columns.begin());
}

// Chooses columns of the first table: "widest", "all", or one by its path.
std::vector<std::size_t> columns_from(Arguments& arguments, Columns const& columns) {
    auto const wanted = arguments.text("columns", "widest");
    if (wanted == "widest") return {widest(columns)};
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (wanted == "all" || wanted == columns[i].path) found.push_back(i);
    }
    if (found.empty()) base::fail_usage({"there is no column " + wanted});
    return found;
}

// Returns the number of items that a column has in the file.
dataset::ItemRange all_items(dataset::Reader const& reader, std::size_t column) {
    auto const& parent = reader.head().columns[0][column].parent;
    return parent ? reader.elements(0, *parent, all_items(reader, *parent)) : dataset::ItemRange{0, reader.rows(0)};
}

struct Target {
    std::size_t column;
    dataset::ItemRange items;
    std::vector<std::byte> out;
};

// Returns what this process has read from the kernel so far, from any file.
std::uint64_t process_read_bytes() {
    std::ifstream io("/proc/self/io");
    for (std::string word; io >> word;) {
        std::uint64_t bytes = 0;
        if (word == "rchar:" && io >> bytes) return bytes;
    }
    base::fail_system({"cannot read /proc/self/io"});
}

std::uint64_t stored_bytes(dataset::Reader const& reader, std::size_t column) {
    std::uint64_t bytes = 0;
    for (auto const& page : reader.column(0, column).pages) bytes += page.stored_bytes;
    return bytes;
}

} // namespace

// Reads columns of the first table into memory that was touched before: once to warm the page cache, then several
// times.
Json measure_read(Arguments& arguments) {
    auto const reader = dataset::Reader::open(arguments.text("path"));
    dataset::ReadOptions options;
    options.threads = static_cast<unsigned>(arguments.number("threads", 2));
    options.check_checksums = arguments.number("checksums", 1) != 0;
    auto const passes = arguments.number("passes", 3);
    auto const& columns = reader->head().columns.at(0);
    std::vector<Target> targets;
    std::uint64_t bytes = 0;
    for (auto const column : columns_from(arguments, columns)) {
        auto const items = all_items(*reader, column);
        targets.push_back({column, items, std::vector<std::byte>(items.count * columns[column].item_bytes())});
        bytes += targets.back().out.size();
    }
    std::vector<double> seconds, cpu_s;
    for (std::uint64_t pass = 0; pass <= passes; ++pass) {
        auto const begin_cpu_s = process_cpu_s();
        auto const begin_ns = base::monotonic_ns();
        for (auto& target : targets) reader->read(0, target.column, target.items, target.out, options);
        if (pass == 0) continue;
        seconds.push_back(seconds_since(begin_ns));
        cpu_s.push_back(process_cpu_s() - begin_cpu_s);
    }
    std::sort(seconds.begin(), seconds.end());
    auto const median_s = seconds.at(seconds.size() / 2);
    auto const gigabytes = static_cast<double>(bytes) * 1e-9;
    return {
        {"seconds", median_s},
        {"raw_bytes", bytes},
        {"GB_per_s", gigabytes / median_s},
        {"cpu_s_per_GB", std::accumulate(cpu_s.begin(), cpu_s.end(), 0.0) / static_cast<double>(passes) / gigabytes},
        {"column", columns[targets[0].column].path}};
}

// Opens a file and reads one column of it: compares the bytes read, including metadata, with the size of the column in
// the file.
Json measure_projection(Arguments& arguments) {
    auto const path = arguments.text("path");
    auto const before_bytes = process_read_bytes();
    auto const reader = dataset::Reader::open(path);
    auto const opened_bytes = process_read_bytes();
    auto const column = columns_from(arguments, reader->head().columns.at(0)).at(0);
    auto const items = all_items(*reader, column);
    std::vector<std::byte> out(items.count * reader->head().columns[0][column].item_bytes());
    reader->read(0, column, items, out);
    auto const read_bytes = process_read_bytes() - opened_bytes;
    std::uint64_t all_bytes = 0;
    for (std::size_t i = 0; i < reader->tables()[0].columns.size(); ++i) all_bytes += stored_bytes(*reader, i);
    auto const share = static_cast<double>(stored_bytes(*reader, column)) / static_cast<double>(all_bytes);
    return {{"columns", reader->tables()[0].columns.size()},
            {"metadata_bytes", opened_bytes - before_bytes},
            {"column_bytes", read_bytes},
            {"pages_bytes", reader->bytes_read()},
            {"share", share},
            {"bytes_per_share",
             static_cast<double>(opened_bytes - before_bytes + read_bytes) / (static_cast<double>(all_bytes) * share)}};
}

} // namespace thalweg::study
