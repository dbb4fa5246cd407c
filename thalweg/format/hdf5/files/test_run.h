// For tests: a run as its producers would have written it, and what a file of it must hold.
#pragma once

#include <cstring>
#include <memory>
#include <random>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/codec/codec.h"
#include "thalweg/format/hdf5/files/format.h"
#include "thalweg/format/stored_column.h"
#include "thalweg/model/run.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format::hdf5::files {

using Bytes = std::vector<std::byte>;

inline model::Field scalar_field(std::string name, model::Scalar scalar, std::vector<std::uint64_t> shape = {}) {
    return {std::move(name), model::Kind::scalar, scalar, std::move(shape), {}, "", ""};
}

inline model::Field list_field(std::string name, model::Field element) {
    return {std::move(name), model::Kind::list, model::Scalar::float64, {}, {std::move(element)}, "", ""};
}

inline model::Field record_field(std::string name, std::vector<model::Field> members) {
    return {std::move(name), model::Kind::record, model::Scalar::float64, {}, std::move(members), "", ""};
}

inline model::Field string_field(std::string name) {
    return {std::move(name), model::Kind::string, model::Scalar::float64, {}, {}, "", ""};
}

inline Bytes contents(storage::Storage const& storage) {
    Bytes bytes(storage.size());
    if (!bytes.empty()) storage.read(0, bytes);
    return bytes;
}

class TestRun {
  public:
    explicit TestRun(model::Schema schema, model::LayoutOptions const& options = {}, unsigned seed = 1)
        : head(model::make_run_head(std::move(schema), options, {})), file(storage::make_memory_storage("run.h5")),
          journal(storage::make_memory_storage("run.h5.journal")), random_(seed) {
        facts.tables.resize(head.schema.tables.size());
        raw_.resize(head.schema.tables.size());
        facts.end_offset = hdf5_format().begin(*file, head);
    }

    // A further producer's rows: full pages in the file, the rest in the journal.
    void add_part(std::size_t table, std::uint64_t rows) {
        auto const& columns = head.columns[table];
        model::Part part;
        std::vector<Bytes> raw;
        std::vector<std::uint64_t> items; // by column
        for (std::size_t c = 0; c < columns.size(); ++c) {
            items.push_back(columns[c].parent ? sum_of(raw[*columns[c].parent]) : rows);
            raw.push_back(random_items(columns[c], items[c]));
            part.columns.push_back(seal(raw[c], columns[c], head.layouts[table].columns[c]));
        }
        if (rows > 0) part.rows.push_back({0, rows});
        facts.tables[table].push_back(std::move(part));
        raw_[table].push_back(std::move(raw));
    }

    // Recovery found a page of a column in this block damaged: the block goes, and the page is not there.
    void drop_block(std::size_t table, std::size_t part, std::uint64_t block, std::size_t column) {
        auto const block_rows = head.layouts[table].block_rows;
        auto& lost = facts.tables[table][part];
        auto const end = lost.rows.back().first + lost.rows.back().count;
        auto const first = block * block_rows;
        lost.rows = {{0, first}, {first + block_rows, end - first - block_rows}};
        auto& pages = lost.columns[column];
        std::erase_if(pages, [&](auto const& page) { return page.first >= first && page.first < first + block_rows; });
    }

    std::uint64_t complete() { return hdf5_format().complete(*file, *journal, head, facts).file_bytes; }

    // The items of a column as the finished table must have them.
    Bytes expected(std::size_t table, std::size_t column) const {
        Bytes all;
        auto const ranges = ranges_of(table, column);
        auto const item_bytes = head.columns[table][column].item_bytes();
        for (auto const& [part, first, count] : ranges) {
            auto const* from = raw_[table][part][column].data() + first * item_bytes;
            all.insert(all.end(), from, from + count * item_bytes);
        }
        if (head.columns[table][column].role == model::Column::Role::lengths) add_up(all);
        return all;
    }

    // The items of a column by a page map.
    static Bytes read(model::RunMap const& map, storage::Storage const& file, std::size_t table, std::size_t column) {
        auto const found = std::move(hdf5_format().load_pages(file, map, {{table, column}}).at(0));
        if (!found.fault.empty()) base::fail_data({found.fault});
        auto const& stored = found.map;
        auto const& facts = map.head.columns[table][column];
        auto const items = stored.pages.empty() ? 0 : stored.pages.back().first + stored.pages.back().count;
        Bytes all(items * facts.item_bytes());
        PageDecoder decoder;
        StoredColumn const pages{facts, stored, map.head.layouts[table].columns[column].codec};
        for (auto const& piece : plan_pieces(pages, 0, items, all)) decode_piece(decoder, pages, piece, file, true);
        return all;
    }

    model::RunHead head;
    model::RunFacts facts;
    std::unique_ptr<storage::Storage> file;
    std::unique_ptr<storage::Storage> journal;

  private:
    struct Range {
        std::size_t part;
        std::uint64_t first;
        std::uint64_t count;
    };

    static std::uint64_t value_at(Bytes const& bytes, std::uint64_t index) {
        std::uint64_t value = 0;
        std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
        return value;
    }

    static std::uint64_t sum_of(Bytes const& lengths, std::uint64_t end = ~0ull) {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < std::min<std::uint64_t>(end, lengths.size() / 8); ++i)
            sum += value_at(lengths, i);
        return sum;
    }

    static void add_up(Bytes& lengths) {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < lengths.size() / 8; ++i) {
            sum += value_at(lengths, i);
            std::memcpy(lengths.data() + i * 8, &sum, sizeof sum);
        }
    }

    Bytes random_items(model::Column const& column, std::uint64_t items) {
        Bytes bytes(items * column.item_bytes());
        if (column.role == model::Column::Role::lengths) {
            for (std::uint64_t i = 0; i < bytes.size() / 8; ++i) {
                std::uint64_t const length = random_() % 4;
                std::memcpy(bytes.data() + i * 8, &length, sizeof length);
            }
            return bytes;
        }
        bool const is_bool = column.scalar == model::Scalar::boolean;
        auto const width = model::size_bytes(column.scalar);
        // Low bytes only, so that most pages shrink; and letters, so that strings are strings.
        for (std::size_t i = 0; i < bytes.size(); i += width) {
            bytes[i] = static_cast<std::byte>(is_bool ? random_() % 2 : 'a' + random_() % 26);
        }
        return bytes;
    }

    std::vector<model::Page> seal(Bytes const& raw, model::Column const& column, model::ColumnLayout const& layout) {
        std::vector<model::Page> pages;
        auto const codec = codec::make_codec(codec::Spec::parse(layout.codec), model::size_bytes(column.scalar));
        auto const items = raw.size() / column.item_bytes();
        auto const page_bytes = layout.page_items * column.item_bytes();
        for (std::uint64_t first = 0; first < items; first += layout.page_items) {
            auto const count = std::min(layout.page_items, items - first);
            auto const piece = std::span(raw).subspan(first * column.item_bytes(), count * column.item_bytes());
            model::Page page{
                first, count, 0, 0, piece.size(), piece.size(), std::nullopt, false, model::Page::Place::file};
            if (count == layout.page_items) {
                Bytes encoded(codec->bound_bytes(page_bytes));
                auto const size = codec->encode(piece, encoded);
                auto const stored = size > 0 ? std::span<std::byte const>(encoded).first(size) : piece;
                page.encoded = size > 0;
                page.stored_bytes = stored.size();
                page.checksum = base::xxh3(stored);
                page.offset = facts.end_offset + random_() % 100; // extents leave gaps
                file->write(page.offset, stored);
                facts.end_offset = page.offset + stored.size();
            } else {
                page.place = model::Page::Place::journal;
                page.offset = journal->size();
                journal->write(page.offset, piece);
            }
            pages.push_back(page);
        }
        return pages;
    }

    std::vector<Range> ranges_of(std::size_t table, std::size_t column) const {
        auto const& facts_of_column = head.columns[table][column];
        std::vector<Range> ranges;
        if (!facts_of_column.parent) {
            for (auto const& s : model::order_of_rows(head.layouts[table], head.columns[table], facts.tables[table])) {
                ranges.push_back({s.part, s.first_row, s.rows});
            }
            return ranges;
        }
        auto const parent = *facts_of_column.parent;
        auto const values = head.columns[table][parent].values_per_item;
        for (auto const& [part, first, count] : ranges_of(table, parent)) {
            auto const& lengths = raw_[table][part][parent];
            auto const begin = sum_of(lengths, first * values);
            ranges.push_back({part, begin, sum_of(lengths, (first + count) * values) - begin});
        }
        return ranges;
    }

    std::mt19937 random_;
    std::vector<std::vector<std::vector<Bytes>>> raw_; // by table, part, column
};

// Three producers of a table with numbers, arrays, lists and strings, in small pages of two codecs.
inline TestRun pulses_and_hits(unsigned seed) {
    using model::Scalar;
    TestRun run(
        {{{"ch0",
           {scalar_field("t", Scalar::uint64), scalar_field("wave", Scalar::uint16, {100}),
            list_field("hits", record_field("", {scalar_field("energy", Scalar::float32)})), string_field("name")},
           ""}}},
        {2048, 256, 4 << 20, 2048, "bitshuffle+lz4", "shuffle+deflate-1"}, seed);
    for (auto const rows : {300, 77, 5}) run.add_part(0, static_cast<std::uint64_t>(rows));
    return run;
}

} // namespace thalweg::format::hdf5::files
