#include "thalweg/dataset/complete/unit_list.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/journal/journal_format.h"

namespace thalweg::dataset {
namespace {

constexpr char kMagic[8] = {'T', 'H', 'U', 'N', 'I', 'T', 'S', '1'};

// Rows of one producer, and their places in its table.
struct Placed {
    std::uint64_t rows;
    std::uint64_t table_row;
};

struct ProducerRows {
    std::uint32_t table = 0;
    std::map<std::uint64_t, Placed> rows; // by the producer's first row
};

using PlacedProducers = std::map<std::uint32_t, ProducerRows>;

void place_table(std::uint32_t table, model::RunHead const& head, std::vector<model::Part> const& parts,
                 PlacedProducers& producers) {
    std::uint64_t row = 0;
    auto const place = [&](std::size_t part, std::uint64_t first_row, std::uint64_t rows) {
        auto& producer = producers[parts[part].producer];
        producer.table = table;
        producer.rows[first_row] = {rows, row};
        row += rows;
    };
    auto const& layout = head.layouts[table];
    if (layout.cluster_bytes > 0) {
        for (auto const& [part, cluster] : model::order_of_clusters(parts))
            place(part, cluster.first_row, cluster.rows);
    } else {
        for (auto const& segment : model::order_of_rows(layout, head.columns[table], parts))
            place(segment.part, segment.first_row, segment.rows);
    }
}

void add_ranges(UnitPart const& part, PlacedProducers const& producers, std::vector<UnitRange>& ranges) {
    auto const found = producers.find(part.producer);
    if (found == producers.end()) return;
    auto const& [table, placed] = found->second;
    auto next = placed.upper_bound(part.first_row);
    if (next != placed.begin()) --next;
    auto const end = part.first_row + part.rows;
    for (; next != placed.end() && next->first < end; ++next) {
        auto const first = std::max(next->first, part.first_row);
        auto const stop = std::min(next->first + next->second.rows, end);
        if (first >= stop) continue;
        UnitRange const range{table, part.producer, next->second.table_row + (first - next->first), stop - first};
        bool const goes_on = !ranges.empty() && ranges.back().producer == range.producer &&
                             ranges.back().first_row + ranges.back().rows == range.first_row;
        if (goes_on)
            ranges.back().rows += range.rows;
        else
            ranges.push_back(range);
    }
}

void put(std::vector<std::byte>& to, void const* from, std::size_t size_bytes) {
    auto const* const bytes = static_cast<std::byte const*>(from);
    to.insert(to.end(), bytes, bytes + size_bytes);
}

template <typename Number> void put(std::vector<std::byte>& to, Number number) { put(to, &number, sizeof number); }

class UnitListBytes {
  public:
    explicit UnitListBytes(std::span<std::byte const> bytes) : rest_(bytes) {}

    template <typename Number> Number number() {
        Number value;
        std::memcpy(&value, take(sizeof value).data(), sizeof value);
        return value;
    }
    std::string text(std::size_t size_bytes) {
        auto const bytes = take(size_bytes);
        return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
    }
    bool empty() const { return rest_.empty(); }
    std::size_t size() const { return rest_.size(); }
    [[noreturn]] static void fail() { base::fail_data({"the table of work units cannot be read", "it is damaged"}); }

  private:
    std::span<std::byte const> take(std::size_t size_bytes) {
        if (size_bytes > rest_.size()) fail();
        auto const taken = rest_.first(size_bytes);
        rest_ = rest_.subspan(size_bytes);
        return taken;
    }

    std::span<std::byte const> rest_;
};

Unit read_unit(UnitListBytes& bytes) {
    auto const key_bytes = bytes.number<std::uint32_t>(), summary_bytes = bytes.number<std::uint32_t>();
    auto const ranges = bytes.number<std::uint32_t>();
    Unit unit;
    unit.key = key_bytes == kIntegerKey ? UnitKey(bytes.number<std::int64_t>()) : UnitKey(bytes.text(key_bytes));
    unit.summary = bytes.text(summary_bytes);
    if (ranges > bytes.size() / sizeof(UnitRange)) UnitListBytes::fail();
    for (std::uint32_t i = 0; i < ranges; ++i) {
        UnitRange range;
        range.table = bytes.number<std::uint32_t>();
        range.producer = bytes.number<std::uint32_t>();
        range.first_row = bytes.number<std::uint64_t>();
        range.rows = bytes.number<std::uint64_t>();
        unit.ranges.push_back(range);
    }
    return unit;
}

} // namespace

std::vector<Unit> place_units(std::vector<UnitFacts> const& units, model::RunHead const& head,
                              model::RunFacts const& facts) {
    if (units.empty()) return {};
    PlacedProducers producers;
    for (std::size_t table = 0; table < facts.tables.size(); ++table)
        place_table(static_cast<std::uint32_t>(table), head, facts.tables[table], producers);
    std::vector<Unit> placed;
    placed.reserve(units.size());
    for (auto const& unit : units) {
        placed.push_back({unit.key, unit.summary, {}});
        for (auto const& part : unit.parts) add_ranges(part, producers, placed.back().ranges);
    }
    return placed;
}

std::vector<std::byte> encode_units(std::vector<Unit> const& units) {
    std::vector<std::byte> bytes;
    if (units.empty()) return bytes;
    put(bytes, kMagic, sizeof kMagic);
    put(bytes, std::uint64_t{units.size()});
    for (auto const& unit : units) {
        put(bytes, unit.key.is_integer ? kIntegerKey : static_cast<std::uint32_t>(unit.key.text.size()));
        put(bytes, static_cast<std::uint32_t>(unit.summary.size()));
        put(bytes, static_cast<std::uint32_t>(unit.ranges.size()));
        if (unit.key.is_integer) put(bytes, unit.key.integer);
        put(bytes, unit.key.text.data(), unit.key.text.size());
        put(bytes, unit.summary.data(), unit.summary.size());
        for (auto const& range : unit.ranges) {
            put(bytes, range.table);
            put(bytes, range.producer);
            put(bytes, range.first_row);
            put(bytes, range.rows);
        }
    }
    return bytes;
}

std::vector<Unit> decode_units(std::span<std::byte const> bytes) {
    std::vector<Unit> units;
    if (bytes.empty()) return units;
    UnitListBytes rest(bytes);
    if (rest.text(sizeof kMagic) != std::string(kMagic, sizeof kMagic)) UnitListBytes::fail();
    for (auto count = rest.number<std::uint64_t>(); count > 0; --count) units.push_back(read_unit(rest));
    if (!rest.empty()) UnitListBytes::fail();
    return units;
}

// A unit has one range of rows for each record of it in the journal, and one more wherever it goes on behind another
// page. What does not shrink is stored with checksums, piece by piece.
std::uint64_t unit_list_bound(std::uint64_t unit_bytes, std::uint64_t pages) {
    constexpr std::uint64_t kRangeBytes = 24;
    if (unit_bytes == 0) return 0;
    auto const bytes = unit_bytes + pages * kRangeBytes;
    return bytes + bytes / 16 + 64 * base::kKiB;
}

} // namespace thalweg::dataset
