#include "thalweg/format/hdf5/reader/run_map_bytes.h"

#include <cstring>
#include <type_traits>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/format/stored_column.h"

namespace thalweg::format::hdf5::reader {
namespace {

using model::Page;
using Bytes = std::vector<std::byte>;

[[noreturn]] void fail() { base::fail_data({"what the process that read the metadata has answered makes no sense"}); }

// Both have the same calls, so that one description of the map serves both directions.
class MapWriter {
  public:
    template <typename Number>
    requires std::is_arithmetic_v<Number> || std::is_enum_v<Number>
    void operator()(Number const& number) {
        auto const* begin = reinterpret_cast<std::byte const*>(&number);
        bytes_.insert(bytes_.end(), begin, begin + sizeof number);
    }
    void operator()(std::string const& text) {
        (*this)(text.size());
        auto const* begin = reinterpret_cast<std::byte const*>(text.data());
        bytes_.insert(bytes_.end(), begin, begin + text.size());
    }
    void operator()(model::Tiling const& tiling) {
        list(tiling.shape, [&](auto extent) { (*this)(extent); });
    }
    template <typename Value> void operator()(std::optional<Value> const& value) {
        (*this)(value.has_value());
        if (value) (*this)(*value);
    }
    template <typename Item, typename Each> void list(std::vector<Item> const& items, Each const& each) {
        (*this)(items.size());
        for (auto const& item : items) each(item);
    }
    void texts(std::map<std::string, std::string> const& map) {
        (*this)(map.size());
        for (auto const& [key, value] : map) {
            (*this)(key);
            (*this)(value);
        }
    }
    Bytes release() { return std::move(bytes_); }

  private:
    Bytes bytes_;
};

class MapReader {
  public:
    explicit MapReader(std::span<std::byte const> bytes) : bytes_(bytes) {}

    template <typename Number>
    requires std::is_arithmetic_v<Number> || std::is_enum_v<Number>
    void operator()(Number& number) { std::memcpy(&number, take(sizeof number).data(), sizeof number); }
    void operator()(bool& value) {
        std::uint8_t byte = 0;
        (*this)(byte);
        value = byte != 0;
    }
    void operator()(std::string& text) {
        auto const from = take(size());
        text.assign(reinterpret_cast<char const*>(from.data()), from.size());
    }
    void operator()(model::Tiling& tiling) {
        list(tiling.shape, [&](auto& extent) { (*this)(extent); });
    }
    template <typename Value> void operator()(std::optional<Value>& value) {
        bool is_there = false;
        (*this)(is_there);
        if (is_there) (*this)(value.emplace());
    }
    template <typename Item, typename Each> void list(std::vector<Item>& items, Each const& each) {
        auto const count = size();
        if (count > bytes_.size()) fail(); // every item takes a byte at least
        for (std::size_t i = 0; i < count; ++i) each(items.emplace_back());
    }
    void texts(std::map<std::string, std::string>& map) {
        for (auto left = size(); left > 0; --left) {
            std::string key;
            (*this)(key);
            (*this)(map[key]);
        }
    }
    bool is_empty() const { return bytes_.empty(); }

  private:
    std::span<std::byte const> take(std::size_t count) {
        if (count > bytes_.size()) fail();
        auto const taken = bytes_.first(count);
        bytes_ = bytes_.subspan(count);
        return taken;
    }
    std::size_t size() {
        std::size_t count = 0;
        (*this)(count);
        return count;
    }

    std::span<std::byte const> bytes_;
};

template <typename Stream, typename PageType> void stream_page(Stream& stream, PageType& page) {
    stream(page.first);
    stream(page.count);
    stream(page.skip);
    stream(page.offset);
    stream(page.stored_bytes);
    stream(page.raw_bytes);
    stream(page.checksum);
    stream(page.encoded);
    stream(page.place);
    stream(page.codec);
    stream(page.sums);
    stream(page.sum_before);
    stream(page.checksum_follows);
    stream(page.cluster);
}

template <typename Stream, typename Map> void stream_column(Stream& stream, Map& column) {
    stream(column.by_value);
    stream(column.tiling);
    stream(column.big_endian);
    stream.list(column.fill, [&](auto& byte) { stream(byte); });
    stream.list(column.held, [&](auto& byte) { stream(byte); });
    stream.list(column.other_codecs, [&](auto& codec) { stream(codec); });
    stream.list(column.pages, [&](auto& page) { stream_page(stream, page); });
    stream(column.later);
}

template <typename Stream, typename Late> void stream_late(Stream& stream, Late& late) {
    stream_column(stream, late.map);
    stream(late.items);
    stream(late.page_items);
    stream(late.codec);
    stream(late.fault);
}

template <typename Stream, typename Wanted> void stream_wanted(Stream& stream, Wanted& wanted) {
    stream(wanted.path);
    stream(wanted.first);
    stream(wanted.count);
}

// All but schema and columns, which follow from it except for the types of lengths.
template <typename Stream, typename Map> void stream_map(Stream& stream, Map& map) {
    stream(map.head.id);
    stream(map.head.created_s);
    stream.texts(map.head.metadata);
    stream.list(map.head.layouts, [&](auto& layout) {
        stream(layout.block_rows);
        stream(layout.cluster_bytes);
        stream.list(layout.columns, [&](auto& column) {
            stream(column.page_items);
            stream(column.codec);
        });
    });
    stream.list(map.tables, [&](auto& table) {
        stream(table.rows);
        stream.list(table.columns, [&](auto& column) { stream_column(stream, column); });
    });
    stream.texts(map.metadata);
    stream(map.closed);
    stream.list(map.left_out, [&](auto& each) {
        stream(each.path);
        stream(each.why);
        stream(each.reason);
    });
    stream.list(map.notes, [&](auto& note) { stream(note); });
    stream.list(map.units, [&](auto& byte) { stream(byte); });
    stream(map.units_fault);
}

void check_map(model::RunMap const& map) {
    auto const& head = map.head;
    if (head.layouts.size() != head.columns.size() || map.tables.size() != head.columns.size()) fail();
    for (std::size_t t = 0; t < head.columns.size(); ++t) {
        auto const columns = head.columns[t].size();
        if (head.layouts[t].columns.size() != columns || map.tables[t].columns.size() != columns) fail();
        for (std::size_t c = 0; c < columns; ++c) {
            if (!is_sound(head.columns[t][c], map.tables[t].columns[c])) fail();
        }
    }
}

Bytes with_checksum(Bytes bytes) {
    auto const checksum = base::xxh3(bytes);
    auto const* begin = reinterpret_cast<std::byte const*>(&checksum);
    bytes.insert(bytes.end(), begin, begin + sizeof checksum);
    return bytes;
}

std::span<std::byte const> without_checksum(std::span<std::byte const> bytes) {
    std::uint64_t checksum = 0;
    if (bytes.size() < sizeof checksum) fail();
    std::memcpy(&checksum, bytes.last(sizeof checksum).data(), sizeof checksum);
    bytes = bytes.first(bytes.size() - sizeof checksum);
    if (base::xxh3(bytes) != checksum) fail();
    return bytes;
}

} // namespace

Bytes to_bytes(model::RunMap const& map) {
    MapWriter put;
    put(model::to_json(map.head.schema));
    for (auto const& columns : map.head.columns) {
        for (auto const& column : columns) put(column.scalar);
    }
    stream_map(put, map);
    return with_checksum(put.release());
}

Bytes to_bytes(std::vector<LateColumn> const& late) {
    MapWriter put;
    put.list(late, [&](auto const& each) { stream_late(put, each); });
    return with_checksum(put.release());
}

std::vector<LateColumn> late_columns_from_bytes(std::span<std::byte const> bytes) {
    MapReader take(without_checksum(bytes));
    std::vector<LateColumn> late;
    take.list(late, [&](auto& each) { stream_late(take, each); });
    if (!take.is_empty()) fail();
    return late;
}

Bytes to_bytes(std::vector<WantedDataset> const& wanted) {
    MapWriter put;
    put.list(wanted, [&](auto const& each) { stream_wanted(put, each); });
    return with_checksum(put.release());
}

std::vector<WantedDataset> wanted_datasets_from_bytes(std::span<std::byte const> bytes) {
    MapReader take(without_checksum(bytes));
    std::vector<WantedDataset> wanted;
    take.list(wanted, [&](auto& each) { stream_wanted(take, each); });
    if (!take.is_empty()) fail();
    return wanted;
}

model::RunMap run_map_from_bytes(std::span<std::byte const> bytes) {
    MapReader take(without_checksum(bytes));
    model::RunMap map;
    std::string schema;
    take(schema);
    map.head.schema = model::schema_from_json(schema);
    for (auto const& table : map.head.schema.tables) {
        auto& columns = map.head.columns.emplace_back(model::flatten(table));
        for (auto& column : columns) {
            take(column.scalar);
            if (column.scalar > model::Scalar::complex128) fail();
        }
    }
    stream_map(take, map);
    if (!take.is_empty()) fail();
    check_map(map);
    return map;
}

} // namespace thalweg::format::hdf5::reader
