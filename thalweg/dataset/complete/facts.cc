#include "thalweg/dataset/complete/facts.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <unordered_set>

#include "thalweg/base/assert.h"
#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/complete/node_facts.h"
#include "thalweg/dataset/complete/part_builder.h"
#include "thalweg/dataset/complete/unit_count.h"
#include "thalweg/dataset/complete/whole_rows.h"
#include "thalweg/dataset/node_folder/parts_folder.h"

namespace thalweg::dataset {
namespace {

constexpr std::size_t kMostAbandoned = 10; // producers that are named one by one

// Says why a page cannot be trusted. Without a reason it can.
struct PageDoubt {
    std::string reason;
    bool unreadable = false;
};

// `bytes`: of the page, and of its checksum if that follows: readers of the finished file compare the two.
PageDoubt doubt(Page const& page, std::uint64_t bytes, storage::Storage const& file, std::uint64_t file_bytes,
                bool check_bytes, std::vector<std::byte>& scratch) {
    if (page.offset + bytes > file_bytes) return {"lies beyond the end of the file"};
    if (!check_bytes) return {};
    scratch.resize(bytes);
    try {
        file.read(page.offset, scratch);
    } catch (base::SystemError const& error) {
        if (!is_bad_medium(error)) throw;
        return {fmt::format("cannot be read ({})", error.what()), true};
    }
    auto const stored = std::span(scratch).first(page.stored_bytes);
    auto const tail = std::span(scratch).subspan(page.stored_bytes);
    auto const checksum = base::xxh3(stored);
    bool const same_tail = std::ranges::equal(tail, std::as_bytes(std::span(&checksum, 1)).first(tail.size()));
    if (checksum == page.checksum && same_tail) return {};
    return {"is not what its checksum says"};
}

// Returns false if no page can be bad: all lie in the file, and none has to be read. As a rule, of an open run.
bool may_be_bad(JournalFacts const& journal, std::uint64_t file_bytes, RunState state) {
    if (state == RunState::copied || state == RunState::ended || !journal.voided_pages.empty()) return true;
    auto const is_beyond = [&](KnownBytes const& page) { return page.offset + page.size_bytes > file_bytes; };
    return std::ranges::any_of(journal.known, is_beyond);
}

// Returns the offsets of bad pages. If one of them was durable, no page counts as durable any more. `checked` gets the
// pages that were read and are good.
std::vector<std::uint64_t> leave_out_bad_pages(JournalFacts& journal, storage::Storage const& file, RunState state,
                                               RunReport& report, std::vector<UnsyncedPage>& checked) {
    std::vector<std::uint64_t> bad_pages;
    auto const file_bytes = file.size();
    if (!may_be_bad(journal, file_bytes, state)) return bad_pages;
    std::vector<std::byte> scratch;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::size_t>> bad;
    for (std::size_t i = 0; i < journal.announced.size(); ++i) {
        auto const& each = journal.announced[i];
        auto const& producer = journal.producers.at(each.producer);
        auto const& page = producer.pages[each.column][each.index];
        bool const check_bytes = state == RunState::copied || (state == RunState::ended && !journal.is_durable(each));
        auto [reason, unreadable] = doubt(page, journal.known[i].size_bytes, file, file_bytes, check_bytes, scratch);
        if (journal.voided_pages.contains(page.offset)) reason = "was damaged when the run was resumed";
        if (reason.empty() && check_bytes) checked.push_back({page.offset, scratch.size(), base::xxh3(scratch)});
        if (reason.empty()) continue;
        bad_pages.push_back(page.offset);
        if (journal.is_durable(each) && !journal.voided_pages.contains(page.offset)) journal.forget_durable_items();
        // Bytes that cannot be read cannot be summed up again, either: the sum of their producer stays.
        if (!unreadable) journal.known[i] = {};
        bad[{each.producer, each.column}].push_back(each.index);
        ++report.damaged_pages;
        report.notes.push_back(fmt::format(
            "table '{}', column '{}': the page at offset {} {}; its {} of rows is left out",
            journal.head->schema.tables[producer.table].name, journal.head->columns[producer.table][each.column].path,
            page.offset, reason, journal.head->layouts[producer.table].cluster_bytes > 0 ? "cluster" : "block"));
    }
    for (auto const& [key, indices] : bad) {
        auto& producer = journal.producers.at(key.first);
        producer.has_bad_pages = true;
        auto& pages = producer.pages[key.second];
        for (auto index = indices.rbegin(); index != indices.rend(); ++index)
            pages.erase(pages.begin() + static_cast<std::ptrdiff_t>(*index));
    }
    return bad_pages;
}

// `behind_page`: bytes of the checksum that follows each. What is written next begins behind that, too.
void count_pages(ProducerFacts const& producer, std::uint64_t behind_page, model::RunFacts& facts, RunReport& report) {
    auto& table = report.tables[producer.table];
    facts.end_offset = std::max(facts.end_offset, producer.seen.end_offset);
    table.raw_bytes += producer.seen.raw_bytes;
    table.stored_bytes += producer.seen.stored_bytes;
    report.pages += producer.seen.pages;
    bool const is_clustered = behind_page > 0; // there equal pages are stored once
    std::unordered_set<std::uint64_t> places;
    for (auto const& column : producer.pages) {
        report.pages += column.size();
        for (auto const& page : column) {
            facts.end_offset = std::max(facts.end_offset, page.offset + page.stored_bytes + behind_page);
            table.raw_bytes += page.raw_bytes;
            if (!is_clustered || places.insert(page.offset).second) table.stored_bytes += page.stored_bytes;
        }
    }
}

// Returns the bytes of pages of which no row counts, because their work units were dropped.
std::uint64_t dropped_bytes(PartBuilder const& part, std::vector<model::Column> const& columns) {
    if (!part.facts().of_units) return 0;
    auto const& rows = part.part().rows;
    auto const end = rows.empty() ? 0 : rows.back().first + rows.back().count;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (columns[i].parent) continue; // elements of lists that do not count are not counted, either
        for (auto const& page : part.part().columns[i]) {
            if (page.place == Page::Place::file && page.first >= end) bytes += page.stored_bytes;
        }
    }
    return bytes;
}

// `elsewhere`: so many of its rows count as those of another node.
void report_part(PartBuilder const& part, model::RunHead const& head, bool is_over, std::uint64_t elsewhere,
                 RunReport& report) {
    auto const& producer = part.facts();
    auto& table = report.tables[producer.table];
    auto const rows = producer.seen.rows + total(part.part().rows);
    table.rows += rows;
    if (producer.finish)
        table.lost_rows += producer.finish->rows - std::min(producer.finish->rows, rows + elsewhere);
    else if (!producer.of_units)
        (is_over ? table.lost_rows : table.rows_to_come) += producer.rows_seen - rows;
    report.dropped_bytes += dropped_bytes(part, head.columns[producer.table]);
    report.notes.insert(report.notes.end(), part.notes().begin(), part.notes().end());
    ++report.producers;
    if (producer.abandoned) {
        if (++report.producers_abandoned <= kMostAbandoned)
            report.abandoned.push_back({part.part().producer, table.table, rows, *producer.abandoned});
    } else if (!producer.finish || producer.finish->died != 0)
        ++report.producers_lost;
    if (!producer.finish) ++report.producers_unsettled;
}

// Producers that were abandoned for one reason, such as a full disk, are one note: it says the reason once.
std::string note_of(std::string const& reason, std::vector<AbandonedProducer const*> const& producers) {
    if (producers.size() == 1) return producers.front()->str();
    std::string note = fmt::format("{} producers were abandoned ({}):", producers.size(),
                                   reason.empty() ? "no reason was given" : reason);
    for (auto const* const producer : producers) {
        note += fmt::format("{} producer {} of table '{}' behind {} rows", producer == producers.front() ? "" : ",",
                            producer->number, producer->table, producer->rows);
    }
    return note;
}

void note_abandoned(RunReport& report) {
    std::vector<std::string> reasons; // in the order in which they are met
    std::map<std::string, std::vector<AbandonedProducer const*>> by_reason;
    for (auto const& producer : report.abandoned) {
        auto& same = by_reason[producer.reason];
        if (same.empty()) reasons.push_back(producer.reason);
        same.push_back(&producer);
    }
    for (auto const& reason : reasons) report.notes.push_back(note_of(reason, by_reason[reason]));
    if (report.producers_abandoned > report.abandoned.size())
        report.notes.push_back(fmt::format("{} producers were abandoned in all", report.producers_abandoned));
}

void check_same_run(std::vector<NodeFacts> const& nodes) {
    auto const& first = *nodes.front().journal.head;
    for (auto const& node : nodes) {
        if (node.journal.head->id == first.id && node.which.nodes == nodes.front().which.nodes) continue;
        base::fail_data(
            {fmt::format("{} and {} do not belong together", nodes.front().journal.path(), node.journal.path()),
             "they are of different runs", "move the one that is not of this run away"});
    }
}

void note_damage(NodeFacts const& node, RunState state, RunReport& report) {
    auto const& damage = node.damage;
    bool const is_being_written = state == RunState::open && damage.is_at_end;
    if (!damage.reason.empty() && !is_being_written) report.notes.push_back(damage.reason);
    report.rows_may_be_missing = report.rows_may_be_missing || !node.is_whole() || !node.journal.lost.empty();
    report.notes.insert(report.notes.end(), node.journal.notes.begin(), node.journal.notes.end());
    report.notes.insert(report.notes.end(), node.journal.lost.begin(), node.journal.lost.end());
    for (auto const segment : node.missing) { // moved without it, say
        report.notes.push_back(fmt::format("{}.{} is missing: the rows in it that no page holds are left out",
                                           node.journal.path(), segment));
    }
}

// Adds one line for each node that the run has, whether its journal is there or not.
void report_nodes(std::vector<NodeFacts> const& nodes, RunState state, RunReport& report) {
    auto const count = nodes.front().which.nodes;
    if (count <= 1) return;
    for (std::uint32_t i = 0; i < count; ++i) report.nodes.push_back({.node = i});
    for (auto const& node : nodes) {
        if (node.which.node >= count) continue;
        report.nodes[node.which.node].host = node.host;
        report.nodes[node.which.node].has_journal = true;
        report.nodes[node.which.node].settled = node.journal.settled && node.is_whole();
    }
    for (auto const& node : report.nodes) {
        if (node.has_journal || state == RunState::open) continue;
        report.notes.push_back(no_journal_of(node.node));
        report.rows_may_be_missing = true;
    }
}

// Appends the units of this node behind those of earlier ones, with the numbers that their producers have here.
void take_units(NodeFacts& node, std::uint32_t first_producer, std::vector<UnitFacts>& units) {
    for (auto& unit : node.journal.units) {
        unit.node = node.which.node;
        for (auto& part : unit.parts) part.producer += first_producer;
    }
    if (units.empty())
        units = std::move(node.journal.units);
    else
        std::ranges::move(node.journal.units, std::back_inserter(units));
}

} // namespace

std::string no_journal_of(std::uint32_t node) {
    return fmt::format("{} has no journal: what it wrote, if it wrote anything, is left out", name_of_node(node));
}

std::string AbandonedProducer::str() const {
    return fmt::format("producer {} of table '{}' was abandoned behind {} rows ({})", number, table, rows,
                       reason.empty() ? "no reason was given" : reason);
}

namespace {

// Puts together what the journals of all nodes say, one after the other.
class Gathering {
  public:
    Gathering(std::vector<NodeFacts>& nodes, std::shared_ptr<JournalRows> rows, storage::Storage const& file,
              RunState state)
        : nodes_(nodes), rows_(std::move(rows)), file_(file), state_(state) {
        auto const& first = nodes.front().journal;
        gathered_.head = *first.head;
        gathered_.rows = rows_;
        gathered_.closed = first.closed;
        gathered_.has_barrier = first.has_barrier();
        gathered_.journal_end = nodes.front().damage.end_offset;
        for (auto const& table : first.head->schema.tables) report_.tables.push_back({table.name});
        gathered_.facts.tables.resize(report_.tables.size());
        report_nodes(nodes, state, report_);
        report_.settled = first.closed || nodes.size() == nodes.front().which.nodes;
    }

    Gathered put_together() {
        for (auto& node : nodes_) take_node(node);
        auto& gathered = gathered_;
        if (nodes_.size() > 1) rows_done_twice_ = choose_units(units_, parts_, report_);
        gathered.units =
            count_units(std::move(units_), parts_, is_over(), gathered.left_out, report_, gathered.head.keys_per_group);
        if (gathered.head.keys_per_group > 0) {
            gathered.groups = std::move(gathered.units);
            gathered.units = units_by_key(gathered.groups, parts_, report_.tables.size(), report_);
        }
        for (auto& [number, part] : parts_) place_part(number, part);
        note_abandoned(report_);
        THALWEG_ASSERT(report_.producers == parts_.size(), "every producer is a part of its table once");
        return std::move(gathered_);
    }

  private:
    bool is_over() const { return state_ != RunState::open; }

    void take_node(NodeFacts& node) {
        auto& journal = node.journal;
        note_damage(node, state_, report_);
        report_.settled = report_.settled && (journal.settled || gathered_.closed);
        gathered_.facts.metadata.merge(journal.metadata); // what an earlier node says stands
        take_bytes(journal, node.which.node);
        if (!report_.nodes.empty()) gathered_.found.push_back(node.found());
        auto const first_producer = gathered_.next_producer;
        if (!report_.nodes.empty()) report_.nodes[node.which.node].first_producer = first_producer;
        for (auto& [number, producer] : journal.producers) take_producer(node, first_producer + number, producer);
        take_units(node, first_producer, units_);
    }

    // Notes which bytes of the file are known, in use or bad.
    void take_bytes(JournalFacts& journal, std::uint32_t node) {
        auto& end_offset = gathered_.facts.end_offset;
        end_offset = std::max(end_offset, journal.footers_end);
        auto const bad_pages = leave_out_bad_pages(journal, file_, state_, report_, gathered_.unsynced);
        gathered_.bad_pages.insert(gathered_.bad_pages.end(), bad_pages.begin(), bad_pages.end());
        if (gathered_.known.empty())
            gathered_.known = std::move(journal.known);
        else
            gathered_.known.insert(gathered_.known.end(), journal.known.begin(), journal.known.end());
        for (auto& region : journal.regions) {
            region.node = node;
            gathered_.regions.push_back(region);
            if (region.is_over) end_offset = std::max(end_offset, region.used_end);
        }
    }

    // `number`: the one that it has among those of all nodes.
    void take_producer(NodeFacts const& node, std::uint32_t number, ProducerFacts& producer) {
        for (auto& [row, cluster] : producer.ended) // those of all nodes in turn
            cluster.order = cluster.order * node.which.nodes + node.which.node;
        auto const is_clustered = gathered_.head.layouts[producer.table].cluster_bytes > 0;
        count_pages(producer, is_clustered ? sizeof(std::uint64_t) : 0, gathered_.facts, report_);
        auto& part = parts_.try_emplace(number, gathered_.head, number, producer, file_, *rows_).first->second;
        // If something is damaged, a gap may stay for ever: nothing behind it is held back.
        bool const may_close_gaps = !is_over() && !producer.finish && !producer.has_bad_pages && node.is_whole();
        if (!producer.of_units) may_close_gaps ? part.keep_beginning() : part.keep_all();
        gathered_.next_producer = number + 1;
        node_of_producer_[number] = node.which.node;
    }

    void place_part(std::uint32_t number, PartBuilder& part) {
        auto const twice = rows_done_twice_.find(number);
        report_part(part, gathered_.head, is_over(), twice == rows_done_twice_.end() ? 0 : twice->second, report_);
        auto const& producer = part.facts();
        auto const rows_there = producer.of_units ? total(part.part().rows) : producer.rows_seen;
        if (!producer.finish) gathered_.unfinished.push_back({number, 1, rows_there});
        if (part.has_cut()) gathered_.cut[number] = part.part().rows;
        if (producer.seen.rows > 0) gathered_.begins[number] = producer.seen.items;
        if (!report_.nodes.empty()) {
            auto& node = report_.nodes[node_of_producer_[number]];
            ++node.producers;
            node.rows += producer.seen.rows + total(part.part().rows);
        }
        gathered_.facts.tables[producer.table].push_back(part.take_part());
    }

    std::vector<NodeFacts>& nodes_;
    std::shared_ptr<JournalRows> rows_;
    storage::Storage const& file_;
    RunState state_;
    Gathered gathered_;
    RunReport& report_ = gathered_.report;
    std::map<std::uint32_t, PartBuilder> parts_;
    std::vector<UnitFacts> units_;
    std::map<std::uint32_t, std::uint64_t> rows_done_twice_; // by producer, of units that count elsewhere
    std::map<std::uint32_t, std::size_t> node_of_producer_;
};

} // namespace

Gathered put_together(std::vector<NodeFacts>& nodes, std::shared_ptr<JournalRows> rows, storage::Storage const& file,
                      RunState state) {
    check_same_run(nodes);
    return Gathering(nodes, std::move(rows), file, state).put_together();
}

Gathered gather(Journals const& files, storage::Storage const& file, RunState state) {
    auto [nodes, rows] = read_nodes(files);
    return put_together(nodes, std::move(rows), file, state);
}

} // namespace thalweg::dataset
