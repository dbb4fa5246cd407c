// Reads tables as C++ structs, or column by column, checked by name, type and unit; beside Writer and StructProducer:
//
//     RunReader const run("run.h5");
//     auto const events = run.table("events");
//     std::vector<Event> const first = events.read(event_type(), {0, 1000});
//     std::vector<float> const x = events.column<float>("x");
//
// `struct_type` says which members the struct has (append/struct_type.h); a table may have more fields. Values of a
// column are numbers, enumerations, std::array of these, std::string, and std::vector of any of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "thalweg/dataset/append/struct_type.h"
#include "thalweg/dataset/read/reader.h"

namespace thalweg::dataset {

// Rows [first, first + count) of a table. The default is all rows.
struct RowRange {
    std::uint64_t first = 0;
    std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
};

namespace detail {

// Puts items of columns where they belong: `at(i)` returns the object of item i.
class ItemScatterer {
  public:
    ItemScatterer(Reader const& reader, std::size_t table, unsigned threads)
        : reader_(reader), table_(table), options_{.threads = threads} {}

    template <class Value, class Inner, class At>
    void scatter(Inner const& inner, std::string const& path, ItemRange items, At const& at) const {
        if constexpr (std::is_same_v<Value, std::string>) {
            scatter_texts(path, items, at);
        } else if constexpr (ElementOf<Value>::kIsList) {
            scatter_lists<typename ElementOf<Value>::Type>(inner, path, items, at);
        } else if constexpr (!std::is_same_v<Inner, NoStruct>) {
            std::apply([&](auto const&... member) { (scatter_member(member, path, items, at), ...); }, inner.members());
        } else {
            auto const bytes = values(path, items, sizeof(Value));
            for (std::size_t i = 0; i < items.count; ++i)
                std::memcpy(&at(i), bytes.data() + i * sizeof(Value), sizeof(Value));
        }
    }

  private:
    struct ListsOfItems {
        std::vector<std::uint64_t> lengths;
        ItemRange elements;
    };

    template <class Each, class At>
    void scatter_member(Each const& member, std::string const& path, ItemRange items, At const& at) const {
        auto const pointer = member.pointer;
        scatter<typename Each::Value>(
            member.inner, path.empty() ? member.name : path + "/" + member.name,
            items, [&](std::size_t i) -> auto& { return at(i).*pointer; });
    }

    template <class Element, class Inner, class At>
    void scatter_lists(Inner const& inner, std::string const& path, ItemRange items, At const& at) const {
        auto const lists = lists_of(path, items);
        std::vector<Element*> places;
        places.reserve(lists.elements.count);
        for (std::size_t i = 0; i < items.count; ++i) {
            auto& list = at(i);
            list.resize(lists.lengths[i]);
            for (auto& element : list) places.push_back(&element);
        }
        scatter<Element>(inner, path + "/*", lists.elements, [&](std::size_t i) -> Element& { return *places[i]; });
    }

    template <class At> void scatter_texts(std::string const& path, ItemRange items, At const& at) const {
        auto const lists = lists_of(path, items);
        auto const bytes = values(path + "/*", lists.elements, 1);
        auto const* next = reinterpret_cast<char const*>(bytes.data());
        for (std::size_t i = 0; i < items.count; next += lists.lengths[i++]) at(i).assign(next, lists.lengths[i]);
    }

    std::vector<std::byte> values(std::string const& path, ItemRange items, std::size_t item_bytes) const;
    ListsOfItems lists_of(std::string const& path, ItemRange items) const;

    Reader const& reader_;
    std::size_t table_;
    ReadOptions options_;
};

} // namespace detail

// A table of a file; thread-safe, as Reader. It keeps the file open.
class TableReader {
  public:
    TableReader(std::shared_ptr<Reader const> reader, std::size_t table) : reader_(std::move(reader)), table_(table) {}

    std::string const& name() const { return schema().name; }
    model::Table const& schema() const { return reader_->head().schema.tables[table_]; }
    std::uint64_t rows() const { return reader_->rows(table_); }

    // Returns rows as structs. Throws base::UsageError that names the column if the table has not all members of the
    // struct, or has them with other types or units, or if there are no such rows; base::DataError if the file is
    // damaged. `threads`: those that decode pages; 0: as many as there are usable cores.
    template <class Type>
    std::vector<typename Type::Struct> read(Type const& type, RowRange rows = {}, unsigned threads = 0) const {
        check_fields(type.fields());
        return items<typename Type::Struct>(type, "", rows, threads);
    }

    // Returns the values of one column by its path ("x", "position/x"). A list is a std::vector. Throws as `read`.
    template <class Value>
    std::vector<Value> column(std::string const& path, RowRange rows = {}, unsigned threads = 0) const {
        static_assert(!std::is_same_v<Value, bool>,
                      "a std::vector<bool> has no bools in memory; use column<std::uint8_t>");
        check_column(path, detail::field_of<Value>("", NoStruct{}));
        return items<Value>(NoStruct{}, path, rows, threads);
    }

  private:
    template <class Value, class Inner>
    std::vector<Value> items(Inner const& inner, std::string const& path, RowRange rows, unsigned threads) const {
        auto const range = checked_rows(rows);
        std::vector<Value> found(range.count);
        detail::ItemScatterer const scatterer(*reader_, table_, threads);
        scatterer.template scatter<Value>(inner, path, range, [&](std::size_t i) -> Value& { return found[i]; });
        return found;
    }

    void check_fields(std::vector<model::Field> const& wanted) const;
    void check_column(std::string const& path, model::Field const& wanted) const;
    ItemRange checked_rows(RowRange rows) const;

    std::shared_ptr<Reader const> reader_;
    std::size_t table_;
};

// A file at one time: complete, or of a run that is still written. Thread-safe.
class RunReader {
  public:
    // Throws what Reader::open throws.
    explicit RunReader(std::string const& path) : reader_(Reader::open(path)) {}

    // Throws base::UsageError that names the tables there are.
    TableReader table(std::string const& name) const {
        return {reader_, reader_->head().schema.table_index(name, reader_->path())};
    }
    std::vector<std::string> tables() const;
    std::map<std::string, std::string> const& metadata() const { return reader_->metadata(); }
    bool is_open_run() const { return reader_->is_open_run(); }
    Reader const& reader() const { return *reader_; }

  private:
    std::shared_ptr<Reader const> reader_;
};

} // namespace thalweg::dataset
