#include "thalweg/dataset/resume.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/commit/disk_share.h"
#include "thalweg/dataset/complete/complete.h"
#include "thalweg/dataset/complete/take_over.h"
#include "thalweg/dataset/complete/torn_beginning.h"
#include "thalweg/dataset/complete/unit_list.h"
#include "thalweg/dataset/earlier_files.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/dataset/run/unit_group.h"
#include "thalweg/dataset/writer.h"
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

void take_keys(std::vector<UnitKey> const& keys, std::vector<UnitKey> const& earlier, Ledger& ledger) {
    if (keys.empty() && earlier.empty()) return;
    ledger.make_units();
    auto& table = *ledger.units_if_any();
    for (auto const* each : {&earlier, &keys}) {
        for (auto const& key : *each) {
            table.grow();
            table.take_again(key);
        }
    }
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

namespace {

// What of the metadata at the end is of pages and units that are there already.
PageCounts counts_of(Gathered const& gathered) {
    PageCounts counts;
    for (auto const& parts : gathered.facts.tables) {
        auto const& columns = gathered.head.columns[static_cast<std::size_t>(&parts - gathered.facts.tables.data())];
        for (auto const& part : parts) {
            for (std::size_t i = 0; i < columns.size(); ++i) {
                counts.all += part.columns[i].size();
                if (columns[i].role == model::Column::Role::lengths) counts.of_lengths += part.columns[i].size();
            }
        }
    }
    counts.unit_bytes = encode_units(place_units(gathered.units, gathered.head, gathered.facts)).size();
    return counts;
}

} // namespace

void check_resumed(UnfinishedRun const& unfinished, std::optional<model::Schema> const& schema,
                   CreateOptions const& options) {
    auto const& path = unfinished.place().data();
    if (!unfinished.is_original) {
        base::fail_usage(
            {"cannot resume the run at " + path, "it is a copy of another one", "recover it, and begin a new run"});
    }
    auto const types_of = [](model::Schema const& each) { return model::without_attributes(each); };
    if (schema && types_of(unfinished.format->make_head(*schema, options.layout, {}).schema) !=
                      types_of(unfinished.head.schema)) {
        base::fail_usage({"cannot resume the run at " + path, "it has another schema",
                          "give none, or the one with which it was created"});
    }
    check_same_order(path, options.keys_per_group, unfinished.head);
}

std::unique_ptr<Writer> Writer::resume(std::string const& path, std::optional<model::Schema> const& schema,
                                       CreateOptions const& options) {
    auto const absolute = std::filesystem::absolute(path).lexically_normal().string();
    auto const places = places_of_run(absolute);
    std::unique_ptr<Writer> writer(new Writer);
    if (!places.empty() && places.front().is_of_many()) {
        writer->resume_as_first(absolute, schema, options);
        return writer;
    }
    auto unfinished = take_over(absolute, "resume");
    if (options.nodes.nodes != 1) {
        base::fail_usage({"cannot resume the run at " + absolute,
                          fmt::format("one node wrote it, and {} are given", options.nodes.nodes), "give none"});
    }
    check_resumed(unfinished, schema, options);
    make_journal_durable(unfinished);
    writer->go_on(unfinished, options);
    return writer;
}

namespace {

void check_may_go_on(UnfinishedRun const& unfinished, Gathered const& gathered) {
    auto const path = unfinished.place().data();
    if (gathered.closed || is_complete(*unfinished.file, *unfinished.format, unfinished.head)) {
        base::fail_usage({"cannot resume the run at " + path, "it is complete",
                          fmt::format("`thalweg recover {}` removes its journal", path)});
    }
    check_not_continued(path, gathered.facts.metadata);
}

// All that there is becomes durable before the status says so, and before the journal names it at once.
JournalWriter keep_what_is_there(UnfinishedRun const& unfinished, Gathered const& gathered, JournalLimits const& limits,
                                 bool is_of_many) {
    begin_again(*unfinished.file, *unfinished.format, gathered, RunState::ended);
    mend_torn_beginning(unfinished);
    if (is_of_many) write_again(*unfinished.file, gathered.unsynced);
    unfinished.file->sync();
    base::sync_directory_of(unfinished.place().data()); // whoever created it may have died before that
    auto lost = lost_with_memory(unfinished, gathered.report);
    for (auto const& node : gathered.report.nodes) {
        if (!node.has_journal) lost.push_back(no_journal_of(node.node));
    }
    auto journal = JournalWriter::resume(unfinished.journals.front(), limits);
    journal_what_is_left(gathered, producers_of_nodes(gathered).front(), journal, lost);
    if (is_of_many) journal_for_others(unfinished, gathered);
    return journal;
}

} // namespace

void Writer::go_on(UnfinishedRun& unfinished, CreateOptions const& options, Resuming const* resuming) {
    auto const path = unfinished.place().data();
    // The lock is given up while the journal is still open (give_up_lock): from here on they have descriptors of their
    // own.
    unfinished.journals.front() = unfinished.place().open_journal(storage::OpenMode::read_write);
    auto gathered = gather(unfinished.journals, *unfinished.file, RunState::ended);
    check_may_go_on(unfinished, gathered);
    auto const earlier = keys_of_earlier_files(path, gathered.facts.metadata);
    auto const tuning = in_effect(tuning_of_resumed(path, gathered.head, *unfinished.format, options, options.given),
                                  *unfinished.format, path);
    auto file = storage::open_file_storage(path, storage::OpenMode::read_write, tuning.write.engine);
    gathered.head.knobs = tuning::texts(tuning);
    gathered.head.engine = file->engine();
    if (resuming) check_same_regions(unfinished, gathered.head);
    auto journal = keep_what_is_there(unfinished, gathered, options.journal, resuming != nullptr);
    remove_memory_of(unfinished.head.id, unfinished.place(), unfinished.journals.front());
    open_again(unfinished, gathered.head, tuning, std::move(file));
    run_->while_waiting = options.nodes.while_waiting;
    auto const first_free = first_free_offset(gathered, *run_->file, *run_->format, unfinished.claimed);
    if (resuming) {
        // What somebody wrote who could not complete the file is in front of that, and may be in no region.
        journal.append(RecordType::footer, FooterRecord{first_free, 0});
        run_->node =
            share_of(*run_, unfinished.place().node(), options.nodes.timeout_ns, tuning.commit.flush_interval_ns);
        run_->node->rules = options.nodes.rules;
    }
    make_ledger(tuning, memory_fallback(path, memory_folder_of(journal_)), true, resuming ? 0 : first_free);
    auto const resumed = resumed_run(gathered);
    take_numbers_and_keys(gathered, resumed, earlier);
    watch_ = std::make_shared<FileWatch>(path, unfinished.place().journal());
    if (resuming) let_others_go_on(*resuming, resumed, first_free);
    start_committer(std::move(journal), tuning.commit,
                    resuming ? std::vector<TableCluster>{} : clusters_so_far(gathered), counts_of(gathered));
}

void Writer::open_again(UnfinishedRun& unfinished, model::RunHead const& head, tuning::Tuning const& tuning,
                        std::unique_ptr<storage::Storage> file) {
    run_ = std::make_shared<OpenRun>();
    run_->format = unfinished.format;
    run_->head = head;
    run_->options = tuning.write;
    run_->file = std::move(file);
    run_->journal_lock = std::move(unfinished.locks.front());
    static_cast<void>(
        base::try_lock_file(run_->journal_lock, unfinished.place().journal(), false)); // shared from now on
    journal_ = unfinished.journals.front();
    whole_file_checksum_ = tuning.whole_file_checksum;
    fork_generation_ = base::fork_generation();
    on_files_ = true;
}

void Writer::take_numbers_and_keys(Gathered const& gathered, ResumedRun const& resumed,
                                   std::vector<UnitKey> const& earlier) {
    run_->ledger->head().next_producer = resumed.next_producers.front();
    if (run_->head.keys_per_group > 0) {
        take_groups(gathered.groups, earlier, run_->head, *run_->ledger);
    } else {
        take_keys(resumed.keys, earlier, *run_->ledger);
        run_->ledger->head().units_committed = resumed.units.front();
    }
}

} // namespace thalweg::dataset
