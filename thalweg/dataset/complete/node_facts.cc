#include "thalweg/dataset/complete/node_facts.h"

#include <algorithm>

namespace thalweg::dataset {

NodeFacts::NodeFacts(JournalFiles const& files)
    : journal(files.main->path()), which(node_of(files.required_start()->preamble)),
      host(files.required_start()->preamble.host) {}

void NodeFacts::read(JournalFiles const& files, JournalRows& rows, JournalPosition* position) {
    std::set<std::uint32_t> found;
    damage = read_journal(
        files, [&](JournalRecord const& record) { return journal.read(record); }, &rows, &found, position);
    auto damaged = damage.offsets;
    missing.clear();
    for (auto const& [segment, offset] : journal.segments) {
        if (journal.closed || found.contains(segment)) continue;
        missing.insert(segment);
        damaged.push_back(offset);
    }
    journal.find_durable_items(damaged);
}

FoundPart NodeFacts::found() const {
    auto tally = journal.tally;
    tally.damaged_records = damage.damaged_records;
    return {which.node, {damage.end_offset + damage.later_bytes, tally}};
}

std::pair<std::vector<NodeFacts>, std::shared_ptr<JournalRows>> read_nodes(Journals const& files) {
    for (int tries = 0;; ++tries) {
        auto const rows = std::make_shared<JournalRows>(files.front().main->path());
        std::vector<NodeFacts> nodes;
        for (auto const& each : files) {
            // A stub: the machine of that node was lost before the beginning of its journal was durable, with all it
            // had.
            bool const is_first = &each == &files.front();
            if (is_first || each.start()->kind != JournalKind::stub) nodes.emplace_back(each).read(each, *rows);
        }
        bool const is_whole = std::ranges::all_of(nodes, [](auto const& node) { return node.missing.empty(); });
        if (is_whole || tries == kTriesForSegments) return {std::move(nodes), rows};
    }
}

} // namespace thalweg::dataset
