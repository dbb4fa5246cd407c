#include "thalweg/dataset/begin/resumed_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

namespace thalweg::dataset {

std::vector<ProducersOfNode> producers_of_nodes(Gathered const& gathered) {
    auto const& reports = gathered.report.nodes;
    if (reports.empty()) return {{0, gathered.next_producer}};
    std::vector<ProducersOfNode> nodes(reports.size());
    auto end = gathered.next_producer;
    for (auto i = reports.size(); i-- > 0;) {
        nodes[i] = {reports[i].has_journal ? reports[i].first_producer : end, 0};
        nodes[i].count = end - nodes[i].first;
        end = nodes[i].first;
    }
    return nodes;
}

ResumedRun resumed_run(Gathered const& gathered) {
    ResumedRun run{gathered.head.knobs, {}, {}, {}};
    auto const nodes = producers_of_nodes(gathered);
    for (auto const& producers : nodes) run.next_producers.push_back(producers.count);
    run.units.resize(nodes.size());
    for (auto const& unit : gathered.units) {
        run.keys.push_back(unit.key);
        auto const own = std::ranges::find_if(
            nodes, [&](auto const& each) { return !unit.parts.empty() && each.has(unit.parts.front().producer); });
        if (own != nodes.end()) ++run.units[static_cast<std::size_t>(own - nodes.begin())];
    }
    return run;
}

void journal_what_is_left(Gathered const& gathered, ProducersOfNode const& own, JournalWriter& journal,
                          std::vector<std::string> const& lost) {
    // The journals of other nodes know nothing of most of these pages and units.
    for (auto const offset : gathered.bad_pages) journal.append(RecordType::voided_page, VoidedPageRecord{offset});
    for (auto const& key : gathered.left_out) {
        UnitRecord record{};
        record.key = key.integer;
        record.key_bytes = key.is_integer ? kIntegerKey : static_cast<std::uint32_t>(key.text.size());
        journal.append(RecordType::voided_unit, record, std::as_bytes(std::span(key.text)));
    }
    for (auto const& [producer, ranges] : gathered.cut) {
        if (!own.has(producer)) continue;
        KeptRecord const kept{producer - own.first, static_cast<std::uint32_t>(ranges.size())};
        journal.append(RecordType::kept, kept, std::as_bytes(std::span(ranges)));
    }
    for (auto finish : gathered.unfinished) {
        if (!own.has(finish.producer)) continue;
        finish.producer -= own.first;
        journal.append(RecordType::finish, finish);
    }
    nlohmann::json resumed{{"knobs", gathered.head.knobs}, {"engine", gathered.head.engine}};
    if (!lost.empty()) resumed["lost"] = lost;
    journal.append_json(RecordType::resumed, resumed.dump());
    journal.sync();
}

} // namespace thalweg::dataset
