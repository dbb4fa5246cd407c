#include "tests/simulator/promises.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <set>

namespace thalweg::simulator {
namespace {

void check_producer(std::uint64_t who, Promise const& promise, std::vector<std::uint64_t> const& rows,
                    std::uint64_t least, bool may_have_gaps, Blame const& blame) {
    auto const name = fmt::format("table {}, producer {}", promise.table, who);
    auto const stands_at = [&](std::size_t i) {
        return promise.kept ? i < promise.kept->size() && (*promise.kept)[i] == rows[i] : rows[i] == i;
    };
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (stands_at(i)) continue;
        if (i > 0 && rows[i] <= rows[i - 1])
            return blame(fmt::format("{}: row {} comes behind row {}", name, rows[i], rows[i - 1]));
        if (!may_have_gaps || i < least)
            return blame(
                fmt::format("{}: row {} stands where row {} should ({} are promised)", name, rows[i], i, least));
    }
    for (auto const row : rows) {
        if (promise.kept && !std::binary_search(promise.kept->begin(), promise.kept->end(), row))
            return blame(fmt::format("{}: row {} was not there when the run was resumed", name, row));
    }
    if (rows.size() < least)
        return blame(fmt::format("{}: {} rows are there, {} are promised", name, rows.size(), least));
    if (!rows.empty() && rows.back() >= promise.begun)
        return blame(fmt::format("{}: row {} was never given to append", name, rows.back()));
}

std::vector<std::uint64_t> const& rows_of(Found const& found, std::uint64_t table, std::uint64_t who) {
    static std::vector<std::uint64_t> const none;
    auto const place = found.tables.at(table).find(who);
    return place == found.tables[table].end() ? none : place->second;
}

// Returns whether the unit counts.
bool check_unit(std::uint64_t who, UnitPromise const& unit, Found const& found, bool promised, Blame const& blame) {
    using State = UnitPromise::State;
    bool whole = true, any = false;
    for (std::size_t table = 0; table < found.tables.size(); ++table) {
        auto const& rows = rows_of(found, table, who);
        any = any || !rows.empty();
        auto const expected = unit.rows.contains(table) ? unit.rows.at(table) : 0;
        whole = whole && rows.size() == expected;
        for (std::size_t i = 0; i < rows.size(); ++i) whole = whole && rows[i] == i;
    }
    auto const name = fmt::format("unit {} (try {})", unit.key, who);
    if (any && !whole) blame(name + ": a part of its rows is there");
    if (any && (unit.state == State::open || unit.state == State::dropped))
        blame(name + ": its rows are there, and it was not committed");
    if (!any && unit.state == State::committed && promised) blame(name + ": it was committed, and its rows are gone");
    return any;
}

// Checks a run that is ordered by key: groups are complete, and follow each other.
void check_order(Promises const& promises, Found const& found, std::set<std::uint64_t> const& counted,
                 Blame const& blame) {
    for (auto const& [who, unit] : promises.units) {
        if (unit.group != kNever && counted.contains(who) != counted.contains(unit.group))
            blame(fmt::format("unit {} (try {}): a part of its group is there", unit.key, who));
    }
    for (std::size_t table = 0; table < found.order.size(); ++table) {
        std::int64_t last = std::numeric_limits<std::int64_t>::min();
        for (auto const who : found.order[table]) {
            auto const unit = promises.units.find(who);
            if (unit == promises.units.end()) continue; // that is a fault of its own
            auto const key = unit->second.key;
            if (key <= last) blame(fmt::format("table {}: rows of unit {} come behind those of {}", table, key, last));
            last = key;
        }
    }
    for (std::size_t table = 0; table < std::min(promises.cuts.size(), found.cuts.size()); ++table) {
        for (auto const& [who, cuts] : promises.cuts[table]) {
            auto const now = found.cuts[table].find(who);
            if (now != found.cuts[table].end() && now->second != cuts)
                blame(
                    fmt::format("table {}: the pages of try {} are others than when the run was resumed", table, who));
        }
    }
}

} // namespace

void Promises::append_begins(std::uint64_t who, std::uint64_t rows) { producers.at(who).begun += rows; }

void Promises::append_returned(std::uint64_t who, std::uint64_t rows, std::uint64_t now_ns) {
    auto& promise = producers.at(who);
    promise.taken += rows;
    promise.history.emplace_back(now_ns, promise.taken);
}

void Promises::status_said(std::uint64_t asked_ns, std::uint64_t lag_ns, std::uint32_t node) {
    if (lag_ns > asked_ns) return;
    for (auto& [who, promise] : producers) {
        if (promise.node != node) continue;
        for (auto const& [time_ns, rows] : promise.history) {
            if (time_ns < asked_ns - lag_ns) promise.durable = std::max(promise.durable, rows);
        }
    }
}

void Promises::status_said_of_units(std::uint64_t asked_ns, std::uint64_t age_ns, std::uint32_t node) {
    for (auto& [who, unit] : units) {
        if (unit.node != node) continue;
        if (unit.committed_ns < asked_ns - std::min(age_ns, asked_ns)) unit.durable = true;
    }
}

void Promises::power_was_cut() {
    for (auto& [who, promise] : producers) {
        promise.taken = promise.durable;
        promise.has_gaps = true;
        promise.history.clear();
    }
    for (auto& [who, unit] : units) {
        if (unit.state == UnitPromise::State::committed && !unit.durable) unit.state = UnitPromise::State::committing;
    }
}

void Promises::was_resumed(Found const& found, std::uint64_t now_ns) {
    cuts = found.cuts;
    for (auto& [who, promise] : producers) {
        promise.kept = rows_of(found, promise.table, who);
        promise.taken = promise.kept->size();
        promise.has_gaps = false;
        promise.history = {{now_ns, promise.taken}};
    }
    for (auto& [who, unit] : units) {
        auto const is_there = [who = who](FoundRows const& table) { return table.contains(who); };
        bool const counts = std::any_of(found.tables.begin(), found.tables.end(), is_there);
        unit.state = counts ? UnitPromise::State::committed : UnitPromise::State::dropped;
        if (counts && unit.committed_ns == kNever) unit.committed_ns = now_ns;
    }
}

void check_promises(Promises const& promises, Found const& found, Crash crash, Blame const& blame) {
    bool const everything = promises.closed || crash == Crash::processes;
    check_promises(
        promises, found, [everything](std::uint32_t) { return everything; }, blame);
}

void check_promises(Promises const& promises, Found const& found, HasAll const& has_all, Blame const& blame) {
    for (auto const& [who, promise] : promises.producers) {
        auto const& rows = rows_of(found, promise.table, who);
        bool const everything = has_all(promise.node);
        auto const least = everything ? promise.taken : promise.durable;
        check_producer(who, promise, rows, least, !everything || promise.has_gaps, blame);
    }
    std::vector<std::int64_t> keys;
    std::set<std::uint64_t> counted;
    for (auto const& [who, unit] : promises.units) {
        if (!check_unit(who, unit, found, has_all(unit.node) || unit.durable, blame)) continue;
        keys.push_back(unit.key);
        counted.insert(who);
    }
    check_order(promises, found, counted, blame);
    std::sort(keys.begin(), keys.end());
    if (std::adjacent_find(keys.begin(), keys.end()) != keys.end()) blame("two tries at one unit count");
    if (keys != found.units) blame("the table of units is not of the units whose rows are there");
    for (std::size_t table = 0; table < found.tables.size(); ++table) {
        for (auto const& [who, rows] : found.tables[table]) {
            auto const promise = promises.producers.find(who);
            bool const known =
                promise != promises.producers.end() ? promise->second.table == table : promises.units.contains(who);
            if (!known) blame(fmt::format("table {}: rows of a producer {} that never was", table, who));
        }
    }
}

void check_one_file(Promises const& promises, Found const& found, Blame const& blame) {
    for (std::size_t table = 0; table < found.tables.size(); ++table) {
        for (auto const& [who, rows] : found.tables[table]) {
            auto const promise = promises.producers.find(who);
            if (promise == promises.producers.end()) {
                if (!promises.units.contains(who)) blame(fmt::format("rows of a producer {} that never was", who));
                continue;
            }
            if (!std::ranges::is_sorted(rows, std::less_equal()))
                blame(fmt::format("table {}, producer {}: its rows are not in their order", table, who));
            if (!rows.empty() && rows.back() >= promise->second.begun)
                blame(fmt::format("table {}, producer {}: a row that was never given to append", table, who));
        }
    }
    for (auto const& [who, unit] : promises.units) check_unit(who, unit, found, false, blame);
}

} // namespace thalweg::simulator
