#include "thalweg/dataset/read/follower.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"

namespace thalweg::dataset {
namespace {

// Returns the part of `rows` that is not in `told`.
Ranges without(model::RowRange const& rows, Ranges const& told) {
    Ranges rest;
    auto from = rows.first;
    for (auto const& each : intersect(told, {rows})) {
        append_range(rest, from, each.first - from);
        from = each.first + each.count;
    }
    append_range(rest, from, rows.first + rows.count - from);
    std::erase_if(rest, [](auto const& each) { return each.count == 0; });
    return rest;
}

void put(Ranges& told, model::RowRange const& rows) {
    auto const behind = std::ranges::find_if(told, [&](auto const& each) { return each.first > rows.first; });
    told.insert(behind, rows);
    Ranges joined;
    for (auto const& each : told) append_range(joined, each.first, each.count);
    told = std::move(joined);
}

} // namespace

void Follower::check_same(Reader const& now) const {
    if (now.is_open_run() && now.head().id.empty()) {
        base::fail_usage({"cannot follow " + path_, "another program writes it", "refresh() shows its newer rows"});
    }
    if (reader_ && now.head().id != reader_->head().id) {
        base::fail_data({fmt::format("{} is another run now", path_),
                         fmt::format("it was {}, and is {}", reader_->head().id, now.head().id), "follow that one"});
    }
}

std::uint64_t Follower::told_rows(std::size_t table) const {
    std::uint64_t rows = 0;
    for (auto const& [key, told] : told_) {
        if (std::get<0>(key) == table) rows += total(told);
    }
    return rows;
}

void Follower::add_new(std::size_t table, TableOrder const& order, std::vector<NewRows>& found) {
    std::vector<NewRows> of_table;
    std::uint64_t row = 0;
    for (auto const& source : order) {
        auto& told = told_[{table, source.node, source.producer}];
        for (auto const& rest : without({source.first_row, source.rows}, told)) {
            THALWEG_ASSERT(intersect(told, {rest}).empty(), "rows are given out once");
            put(told, rest);
            of_table.push_back({table, RowSource{source.node, source.producer, rest.first, rest.count},
                                row + (rest.first - source.first_row), rest.count});
        }
        row += source.rows;
    }
    auto const by_producer = [](NewRows const& each) {
        return std::tuple(each.source->node, each.source->producer, each.source->first_row);
    };
    std::ranges::sort(of_table, {}, by_producer);
    found.insert(found.end(), of_table.begin(), of_table.end());
}

// Returns whose the rows of the closed file are, if the run was open before. Tables of which no row was given out need
// not be known.
RowOrder Follower::order_of_closed(Reader const& now) {
    std::vector<std::uint64_t> rows;
    for (auto const& table : now.tables()) rows.push_back(table.rows);
    if (reader_ && reader_->is_open_run()) return order_when_closed(reader_->journals(), reader_->file(), rows);
    return {};
}

std::shared_ptr<Reader const> Follower::next_reader() {
    auto facts = facts_ ? std::move(facts_) : GrowingFacts::of(path_); // after an error all is read anew
    std::shared_ptr<Reader const> next = facts ? Reader::open_next(path_, *facts) : nullptr;
    if (!next) return Reader::open(path_);
    facts_ = std::move(facts);
    return next;
}

std::vector<NewRows> Follower::look() {
    if (!lost_.empty()) base::fail_data({lost_});
    if (is_over()) return {};
    auto const now = next_reader();
    check_same(*now);
    auto const order = now->is_open_run() ? now->order() : order_of_closed(*now);
    std::vector<NewRows> found;
    for (std::size_t table = 0; table < now->tables().size(); ++table) {
        auto const told = told_rows(table), rows = now->rows(table);
        if (!order.empty()) {
            add_new(table, order[table], found);
        } else if (told == 0) {
            if (rows > 0) found.push_back({table, std::nullopt, 0, rows});
        } else { // of a closed run, of which rows were lost
            lost_ =
                fmt::format("{}: which rows of table '{}' are new cannot be told, since rows were lost when the run "
                            "was completed: {} were given out, and it has {} now (read the file anew)",
                            path_, now->head().schema.tables[table].name, told, rows);
        }
        if (order.empty() || now->is_open_run()) continue;
        if (told_rows(table) > rows) {
            lost_ =
                fmt::format("{}: rows of table '{}' were given out that are not in the finished file ({} of {}): "
                            "they were lost when the run was completed (read the file anew)",
                            path_, now->head().schema.tables[table].name, told_rows(table) - rows, told_rows(table));
        }
    }
    reader_ = now;
    if (facts_) facts_->forget_seen(now->file());
    return found;
}

} // namespace thalweg::dataset
