#include "thalweg/dataset/read/late_pages.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"

namespace thalweg::dataset {
namespace {

constexpr unsigned kMostPieces = 2;        // of a column that are looked up by themselves
constexpr std::uint64_t kLeastOfPiece = 8; // so many times larger is what is looked up by pieces
constexpr std::uint64_t kMostTablesAtOnce = 1 << 20;

} // namespace

LatePages::LatePages(storage::Storage const& file, format::Format const& format, model::RunMap const& map)
    : file_(file), format_(format), map_(map) {
    for (std::size_t table = 0; table < map.tables.size(); ++table) {
        for (std::size_t column = 0; column < map.tables[table].columns.size(); ++column) {
            if (!map.tables[table].columns[column].later.empty()) columns_.try_emplace({table, column});
        }
    }
}

LatePages::Map const& LatePages::all(std::size_t table, std::size_t column) {
    auto const& known = map_.tables.at(table).columns.at(column);
    if (known.later.empty()) return known;
    auto& asked = columns_.at({table, column});
    if (auto const* found = asked.all.load(std::memory_order_acquire)) return *found;
    base::Lock const lock(mutex_);
    if (asked.all.load(std::memory_order_relaxed) == nullptr) look_up({table, column});
    return asked.map;
}

std::shared_ptr<LatePages::Map const> LatePages::some(std::size_t table, std::size_t column, ItemRange items) {
    auto const without_owner = [](Map const& map) { return std::shared_ptr<Map const>(std::shared_ptr<void>(), &map); };
    auto const& known = map_.tables.at(table).columns.at(column);
    if (known.later.empty()) return without_owner(known);
    Key const key{table, column};
    auto& asked = columns_.at(key);
    if (auto const* found = asked.all.load(std::memory_order_acquire)) return without_owner(*found);
    base::Lock const lock(mutex_);
    if (asked.all.load(std::memory_order_relaxed) != nullptr) return without_owner(asked.map);
    auto const& has = asked.piece_items;
    bool const is_there = items.first >= has.first && items.first + items.count <= has.first + has.count;
    if (asked.piece && is_there) return asked.piece;
    if (asked.pieces < kMostPieces && is_small(key, items)) {
        ++asked.pieces;
        asked.piece = std::make_shared<Map const>(look_up_alone({table, column, items.first, items.count}));
        asked.piece_items = items;
        return asked.piece;
    }
    look_up(key);
    return without_owner(asked.map);
}

// Running sums are asked for at two places at least, and how many elements of lists there are is not known here.
bool LatePages::is_small(Key key, ItemRange items) const {
    auto const& facts = map_.head.columns[key.first][key.second];
    auto const page_items = map_.head.layouts[key.first].columns[key.second].page_items;
    if (facts.parent || facts.role == model::Column::Role::lengths || items.count == 0 || page_items == 0) return false;
    auto const bands = (items.first + items.count - 1) / page_items - items.first / page_items + 1;
    return bands * kLeastOfPiece <= map_.tables[key.first].rows / page_items;
}

std::vector<format::WantedPages> LatePages::with_neighbours(Key key) {
    std::vector<format::WantedPages> wanted{{key.first, key.second}};
    if (columns_.at(key).alone) return wanted;
    auto const tables = map_.tables.size();
    for (auto& [other, column] : columns_) {
        auto const behind = (other.first + tables - key.first) % tables; // from the table of the column on
        bool const is_known = other == key || column.all.load(std::memory_order_relaxed) != nullptr || column.alone;
        if (!is_known && behind < tables_at_once_) wanted.push_back({other.first, other.second});
    }
    tables_at_once_ = std::min(2 * tables_at_once_, kMostTablesAtOnce);
    return wanted;
}

void LatePages::look_up(Key key) {
    auto const wanted = with_neighbours(key);
    std::vector<format::FoundPages> found;
    try {
        found = format_.load_pages(file_, map_, wanted);
    } catch (base::DataError const& error) { // one of them has ended the process
        for (auto const& each : wanted) columns_.at({each.table, each.column}).alone = true;
        if (wanted.size() == 1) fail(key, error.what());
        found.push_back({look_up_alone(wanted.front()), {}});
    }
    THALWEG_ASSERT(!found.empty() && found.size() <= wanted.size(), "a look-up finds columns that were asked for");
    for (std::size_t i = 0; i < found.size(); ++i) {
        auto& column = columns_.at({wanted[i].table, wanted[i].column});
        column.alone = column.alone || !found[i].fault.empty();
        if (!found[i].fault.empty()) continue;
        column.map = std::move(found[i].map);
        column.piece.reset();
        column.all.store(&column.map, std::memory_order_release);
    }
    if (!found.front().fault.empty()) fail(key, found.front().fault);
}

LatePages::Map LatePages::look_up_alone(format::WantedPages const& wanted) const {
    format::FoundPages found;
    try {
        found = std::move(format_.load_pages(file_, map_, {wanted}).at(0));
    } catch (base::DataError const& error) {
        found.fault = error.what();
    }
    if (!found.fault.empty()) fail({wanted.table, wanted.column}, found.fault);
    return std::move(found.map);
}

void LatePages::fail(Key key, std::string const& why) const {
    base::fail_data(
        {fmt::format("{}: table '{}', column '{}' cannot be read", file_.path(),
                     map_.head.schema.tables[key.first].name, map_.head.columns[key.first][key.second].path),
         why});
}

} // namespace thalweg::dataset
