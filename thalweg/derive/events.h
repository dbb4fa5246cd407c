// The function of an event loop gets this: one range of events, and the outputs for its rows.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "thalweg/dataset/append/struct_type.h"
#include "thalweg/dataset/append/work_unit.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/derive/event_ranges.h"

namespace thalweg::derive {

// One list for each event.
template <class T> class Lists {
  public:
    Lists(std::vector<std::uint64_t> const& lengths, std::vector<T> values) : values_(std::move(values)) {
        ends_.reserve(lengths.size() + 1);
        ends_.push_back(0);
        for (auto const length : lengths) ends_.push_back(ends_.back() + length);
    }

    std::uint64_t size() const { return ends_.size() - 1; }
    std::span<T const> operator[](std::uint64_t event) const {
        return std::span(values_).subspan(ends_[event], ends_[event + 1] - ends_[event]);
    }
    std::span<T const> values() const { return values_; }

  private:
    std::vector<std::uint64_t> ends_;
    std::vector<T> values_;
};

// The open unit of a range in one output.
struct OutputUnit {
    dataset::WorkUnit unit;
    model::Schema const* schema = nullptr;
};
using OutputUnits = std::map<std::string, OutputUnit>; // by path

class Events {
  public:
    Events(dataset::Reader const& reader, std::size_t table, LoopRange const& range, OutputUnits& units)
        : reader_(reader), table_(table), range_(range), units_(units) {}

    LoopRange const& range() const { return range_; }
    std::uint64_t first() const { return range_.first; } // in its file
    std::uint64_t size() const { return range_.count; }
    dataset::Reader const& reader() const { return reader_; }
    std::size_t table() const { return table_; } // of the reader

    // Values of a column that has as many for each event (`shape` of it, row by row), by its path: "pos/x". Throws
    // base::UsageError if there is no such column, if it is a list, or if its values are no `T`;
    // base::DataError if they are damaged.
    template <class T> std::vector<T> values(std::string const& path) const {
        return items<T>(path, {}, dataset::ItemRange{range_.first, range_.count});
    }
    // Returns a column that has a list of such values for each event; a text is a list of bytes, `std::uint8_t`.
    template <class T> Lists<T> lists(std::string const& path) const {
        auto const lengths_column = column_of_lengths(path);
        dataset::ItemRange const rows{range_.first, range_.count};
        std::vector<std::uint64_t> lengths(range_.count);
        reader_.read(table_, lengths_column, rows, std::as_writable_bytes(std::span(lengths)), {.threads = 1});
        return {lengths, items<T>(path, lengths_column, reader_.elements(table_, lengths_column, rows))};
    }

    // Takes rows of the only table of that output, or of one of several. They count if the function returns. Throws
    // base::UsageError if there is no such output or table.
    dataset::Producer& operator[](std::string const& output);
    dataset::Producer& rows(std::string const& output, std::string const& table);

    // Adds to what the job sums up under that name: it counts once, as the rows do.
    void add(std::string const& name, double value) { sums_[name] += value; }
    std::map<std::string, double> const& sums() const { return sums_; }

  private:
    OutputUnit& unit(std::string const& output);
    std::size_t column_of_lengths(std::string const& path) const;
    // Throws if it is not inside of `lengths`, or if its values are not `wanted`.
    std::size_t column_of_values(std::string const& path, std::optional<std::size_t> lengths,
                                 model::Scalar wanted) const;

    template <class T>
    std::vector<T> items(std::string const& path, std::optional<std::size_t> lengths, dataset::ItemRange range) const {
        auto const column = column_of_values(path, lengths, dataset::detail::scalar_of<T>());
        std::vector<T> values(range.count * reader_.head().columns[table_][column].values_per_item);
        reader_.read(table_, column, range, std::as_writable_bytes(std::span(values)), {.threads = 1});
        return values;
    }

    dataset::Reader const& reader_;
    std::size_t table_;
    LoopRange range_;
    OutputUnits& units_;
    std::map<std::string, double> sums_;
};

} // namespace thalweg::derive
