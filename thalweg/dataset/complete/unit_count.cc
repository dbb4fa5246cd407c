#include "thalweg/dataset/complete/unit_count.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/node_folder/parts_folder.h"
#include "thalweg/dataset/run/unit_group.h"

namespace thalweg::dataset {
namespace {

constexpr std::size_t kMostNamed = 10; // units that are named one by one

using PartBuilders = std::map<std::uint32_t, PartBuilder>;

bool is_whole(UnitFacts const& unit, PartBuilders const& parts) {
    if (unit.parts.size() < unit.parts_wanted) return false;
    return std::all_of(unit.parts.begin(), unit.parts.end(), [&](UnitPart const& part) {
        auto const found = parts.find(part.producer);
        return found != parts.end() && found->second.has(part.first_row, part.rows);
    });
}

void keep_rows(std::vector<UnitFacts> const& units, PartBuilders& parts) {
    std::map<std::uint32_t, std::map<std::uint64_t, std::uint64_t>> rows; // by producer: rows by first row
    for (auto const& unit : units) {
        for (auto const& part : unit.parts) rows[part.producer][part.first_row] += part.rows;
    }
    for (auto& [number, part] : parts) {
        if (!part.facts().of_units) continue;
        Ranges counted;
        for (auto const& [first, count] : rows[number]) append_range(counted, first, count);
        part.keep(counted);
    }
}

bool is_voided(UnitFacts const& unit) { return unit.parts_wanted == 0; } // when the run was resumed

// Returns, by key, the places of units in the list if there are several, in the order of the nodes.
std::vector<std::vector<std::size_t>> rivals_in(std::vector<UnitFacts> const& units) {
    std::map<UnitKey, std::size_t> firsts;
    std::map<std::size_t, std::vector<std::size_t>> rivals;
    for (std::size_t i = 0; i < units.size(); ++i) {
        if (auto const [first, is_new] = firsts.try_emplace(units[i].key, i); !is_new)
            rivals[first->second].push_back(i);
    }
    std::vector<std::vector<std::size_t>> all;
    for (auto& [first, others] : rivals) {
        others.insert(others.begin(), first);
        all.push_back(std::move(others));
    }
    return all;
}

} // namespace

// A unit is tested for wholeness while all of them count: a row that does not count may cost those behind it.
std::map<std::uint32_t, std::uint64_t> choose_units(std::vector<UnitFacts>& units, PartBuilders& parts,
                                                    RunReport& report) {
    std::erase_if(units, is_voided);
    auto const all_rivals = rivals_in(units);
    if (all_rivals.empty()) return {};
    keep_rows(units, parts);
    auto const said_before = report.notes.size();
    std::set<std::size_t> dropped;
    std::map<std::uint32_t, std::uint64_t> rows;
    for (auto const& rivals : all_rivals) {
        auto const whole = std::ranges::find_if(rivals, [&](auto place) { return is_whole(units[place], parts); });
        auto const counts = whole == rivals.end() ? rivals.front() : *whole;
        std::string names;
        for (auto const place : rivals) {
            names += (names.empty() ? "" : " and by ") + name_of_node(units[place].node);
            if (place == counts) continue;
            dropped.insert(place);
            for (auto const& part : units[place].parts) rows[part.producer] += part.rows;
        }
        if (report.notes.size() < said_before + kMostNamed)
            report.notes.push_back(fmt::format("work unit {} was committed by {}: that of {} counts",
                                               units[counts].key.str(), names, name_of_node(units[counts].node)));
    }
    if (all_rivals.size() > kMostNamed)
        report.notes.push_back(fmt::format("{} work units were committed by several nodes in all", all_rivals.size()));
    std::size_t place = 0;
    std::erase_if(units, [&](UnitFacts const&) { return dropped.contains(place++); });
    return rows;
}

std::vector<UnitFacts> count_units(std::vector<UnitFacts> units, PartBuilders& parts, bool is_over,
                                   std::vector<UnitKey>& left_out, RunReport& report, std::uint64_t keys_per_group) {
    std::erase_if(units, is_voided);
    std::size_t lost = 0;
    while (true) {
        keep_rows(units, parts);
        auto const not_whole = std::stable_partition(units.begin(), units.end(),
                                                     [&](UnitFacts const& unit) { return is_whole(unit, parts); });
        if (not_whole == units.end()) break;
        for (auto unit = not_whole; unit != units.end() && is_over; ++unit) {
            if (++lost > kMostNamed) break;
            report.notes.push_back(fmt::format(
                "work unit {} is left out of all tables (not all of its rows are there): it has to be done again",
                keys_per_group > 1 ? name_of_group(unit->key.integer, keys_per_group) : unit->key.str()));
        }
        for (auto unit = not_whole; unit != units.end(); ++unit) left_out.push_back(unit->key);
        if (is_over) report.units_lost += static_cast<std::uint64_t>(units.end() - not_whole);
        units.erase(not_whole, units.end());
    }
    THALWEG_ASSERT_COSTLY(std::ranges::all_of(units, [&](UnitFacts const& unit) { return is_whole(unit, parts); }),
                          "a unit that counts has all its rows");
    THALWEG_ASSERT_COSTLY(rivals_in(units).empty(), "a key counts once");
    if (lost > kMostNamed) report.notes.push_back(fmt::format("{} work units are left out in all", report.units_lost));
    report.units = units.size();
    return units;
}

std::vector<UnitFacts> units_by_key(std::vector<UnitFacts>& groups, PartBuilders& parts, std::size_t tables,
                                    RunReport& report) {
    std::ranges::sort(groups, {}, [](UnitFacts const& group) { return group.key.integer; });
    std::vector<UnitFacts> units;
    std::uint64_t rank = 0;
    for (auto const& group : groups) {
        std::map<std::size_t, UnitPart> rest; // by table
        for (auto const& part : group.parts) {
            auto& builder = parts.at(part.producer);
            builder.order_clusters(rank);
            rest[builder.facts().table] = part;
        }
        ++rank;
        try {
            for (auto& unit : decode_group(group.summary, tables)) {
                auto& placed = units.emplace_back(UnitFacts{unit.key, std::move(unit.summary), 0, {}});
                for (auto& [table, part] : rest) {
                    auto const rows = std::min(unit.rows[table], part.rows);
                    if (rows > 0) placed.parts.push_back({part.producer, part.first_row, rows});
                    part.first_row += rows;
                    part.rows -= rows;
                }
                placed.parts_wanted = static_cast<std::uint32_t>(placed.parts.size());
            }
        } catch (base::DataError const& error) {
            report.notes.push_back(fmt::format("group {} of work units: {}", group.key.str(), error.what()));
        }
    }
    report.units = units.size();
    return units;
}

} // namespace thalweg::dataset
