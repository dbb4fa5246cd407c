#include "thalweg/dataset/resume.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/commit/disk_share.h"
#include "thalweg/dataset/run/unit_group.h"
#include "thalweg/tuning/knobs.h"

namespace thalweg::dataset {

tuning::Tuning tuning_of_resumed(std::string const& path, model::RunHead const& head, format::Format const& format,
                                 tuning::Tuning const& asked, std::set<std::string> const& given) {
    tuning::Tuning was;
    for (auto const& knob : tuning::knobs()) {
        if (auto const known = head.knobs.find(std::string(knob.name)); known != head.knobs.end())
            tuning::set(was, knob.name, known->second);
    }
    auto own = asked;
    fit_to_disk(was.layout.table_page_bytes * kDiskOfPages, own.layout); // as it was lowered then, if it was
    own.layout = format.with_own_values(own.layout);
    auto tuning = was;
    for (auto const& knob : tuning::knobs()) {
        auto const value = tuning::get(asked, knob);
        bool const is_given = given.contains(std::string(knob.name)) || value != tuning::get({}, knob);
        bool const is_known = head.knobs.contains(std::string(knob.name)); // else it came after the run was created
        if (!is_given || std::holds_alternative<std::monostate>(value)) continue;
        if (tuning::may_change_between(knob)) {
            tuning::set(tuning, knob.name, tuning::text(knob, value));
        } else if (is_known && tuning::get(own, knob) != tuning::get(was, knob)) {
            base::fail_usage({"cannot resume the run at " + path,
                              fmt::format("its knob '{}' is {} and cannot change, and {} was asked for", knob.name,
                                          tuning::text(knob, tuning::get(was, knob)), tuning::text(knob, value)),
                              "leave it out"});
        }
    }
    return tuning;
}

void journal_what_is_left(Gathered const& gathered, JournalWriter& journal) {
    for (auto const offset : gathered.bad_pages) journal.append(RecordType::voided_page, VoidedPageRecord{offset});
    for (auto const& key : gathered.left_out) {
        UnitRecord record{};
        record.key = key.integer;
        record.key_bytes = key.is_integer ? kIntegerKey : static_cast<std::uint32_t>(key.text.size());
        journal.append(RecordType::voided_unit, record, std::as_bytes(std::span(key.text)));
    }
    for (auto const& [producer, ranges] : gathered.cut) {
        KeptRecord const kept{producer, static_cast<std::uint32_t>(ranges.size())};
        journal.append(RecordType::kept, kept, std::as_bytes(std::span(ranges)));
    }
    for (auto const& finish : gathered.unfinished) journal.append(RecordType::finish, finish);
    nlohmann::json const knobs{{"knobs", gathered.head.knobs}, {"engine", gathered.head.engine}};
    journal.append_json(RecordType::resumed, knobs.dump());
    journal.sync();
}

std::uint64_t first_free_offset(Gathered const& gathered, storage::Storage const& file, format::Format const& format,
                                std::uint64_t claimed) {
    auto const beginning = storage::make_memory_storage("the beginning of " + gathered.head.id);
    auto const first = format.begin(*beginning, gathered.head);
    auto end = std::max({first, gathered.facts.end_offset, claimed, format.end_of_readable(file, gathered.head)});
    // The journal voids a page by its offset: none that is good may ever lie there.
    for (auto const offset : gathered.bad_pages) end = std::max(end, offset + 1);
    return base::round_up(end, base::kBlockBytes);
}

void take_groups(std::vector<UnitFacts> const& groups, std::vector<UnitKey> const& earlier, model::RunHead const& head,
                 Ledger& ledger) {
    if (groups.empty() && earlier.empty()) return;
    ledger.make_units();
    auto& table = *ledger.units_if_any();
    auto const take = [&](UnitKey const& group, std::string_view list) {
        table.grow(list.size());
        table.take_again(group, list);
    };
    std::map<std::int64_t, std::vector<UnitOfGroup>> of_earlier; // by group; which rows they have there is not needed
    for (auto const& key : earlier) {
        auto const group = group_of(key.integer, head.keys_per_group);
        of_earlier[group].push_back({key.integer, {}, std::vector<std::uint64_t>(head.schema.tables.size())});
    }
    for (auto const& [group, units] : of_earlier) take(group, encode_group(units));
    for (auto const& group : groups) take(group.key, group.summary);
    ledger.head().units_committed = groups.size();
}

void take_keys(std::vector<UnitFacts> const& units, std::vector<UnitKey> const& earlier, Ledger& ledger) {
    if (units.empty() && earlier.empty()) return;
    ledger.make_units();
    auto& table = *ledger.units_if_any();
    auto const take = [&](UnitKey const& key) {
        table.grow();
        table.take_again(key);
    };
    for (auto const& key : earlier) take(key);
    for (auto const& unit : units) take(unit.key);
    ledger.head().units_committed = units.size();
}

std::vector<TableCluster> clusters_so_far(Gathered const& gathered) {
    std::vector<TableCluster> clusters;
    for (std::size_t table = 0; table < gathered.facts.tables.size(); ++table) {
        auto const& parts = gathered.facts.tables[table];
        if (gathered.head.layouts[table].cluster_bytes == 0) continue;
        for (auto const& [index, cluster] : model::order_of_clusters(parts)) {
            if (!cluster.whole) continue; // it comes last, when the run is closed
            format::ClusterPages pages{cluster.rows, {}};
            for (auto const& column : parts[index].columns) {
                auto& mine = pages.columns.emplace_back();
                auto const is_in_it = [first_row = cluster.first_row](auto const& page) {
                    return page.place == model::Page::Place::file && page.cluster == first_row;
                };
                std::copy_if(column.begin(), column.end(), std::back_inserter(mine), is_in_it);
            }
            clusters.emplace_back(table, std::move(pages));
        }
    }
    return clusters;
}

} // namespace thalweg::dataset
