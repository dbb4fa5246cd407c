#include "thalweg/dataset/begin/resumption.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/begin/earlier_files.h"
#include "thalweg/dataset/commit/disk_share.h"
#include "thalweg/dataset/complete/complete.h"
#include "thalweg/dataset/complete/torn_beginning.h"
#include "thalweg/dataset/complete/unit_list.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/dataset/run/unit_group.h"
#include "thalweg/storage/storage.h"
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

// How much of the metadata at the end is about pages and units that are there already.
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

namespace {

void check_may_go_on(UnfinishedRun const& unfinished, Gathered const& gathered) {
    auto const path = unfinished.place().data();
    if (gathered.closed || is_complete(*unfinished.file, *unfinished.format, unfinished.head)) {
        base::fail_usage({"cannot resume the run at " + path, "it is complete",
                          fmt::format("`thalweg recover {}` removes its journal", path)});
    }
    check_not_continued(path, gathered.facts.metadata);
}

} // namespace

Resumption::Resumption(UnfinishedRun unfinished, CreateOptions const& options)
    : unfinished_(std::move(unfinished)), limits_(options.journal), while_waiting_(options.nodes.while_waiting) {
    auto const path = unfinished_.place().data();
    // The lock is given up while the journal is still open (Writer::give_up_lock): from here on they have descriptors
    // of their own.
    unfinished_.journals.front() = unfinished_.place().open_journal(storage::OpenMode::read_write);
    gathered_ = gather(unfinished_.journals, *unfinished_.file, RunState::ended);
    check_may_go_on(unfinished_, gathered_);
    earlier_ = keys_of_earlier_files(path, gathered_.facts.metadata);
    auto const asked = tuning_of_resumed(path, gathered_.head, *unfinished_.format, options, options.given);
    tuning_ = in_effect(asked, *unfinished_.format, path, unfinished_.place().node().nodes);
    limits_ = fit_to_budget(limits_, tuning_.commit.rows_budget_bytes);
    file_ = storage::open_file_storage(path, storage::OpenMode::read_write, tuning_.write.engine);
    gathered_.head.knobs = tuning::texts(tuning_);
    // The regions of nodes lie where they lay, however little of them is allocated ahead on a disk that is fuller now.
    if (unfinished_.place().is_of_many())
        gathered_.head.knobs["allocate_ahead_bytes"] = tuning::texts(asked).at("allocate_ahead_bytes");
    gathered_.head.engine = file_->engine();
    resumed_ = resumed_run(gathered_);
}

// All that there is becomes durable before the status says so, and before the journal names it at once.
void Resumption::keep_what_is_there() {
    begin_again(*unfinished_.file, *unfinished_.format, gathered_, RunState::ended);
    mend_torn_beginning(unfinished_);
    if (unfinished_.place().is_of_many()) write_again(*unfinished_.file, gathered_.unsynced);
    unfinished_.file->sync();
    base::sync_directory_of(unfinished_.place().data()); // the creator of the file may have died before that
    auto lost = lost_with_memory(unfinished_, gathered_.report);
    for (auto const& node : gathered_.report.nodes) {
        if (!node.has_journal) lost.push_back(no_journal_of(node.node));
    }
    journal_ = JournalWriter::resume(unfinished_.journals.front(), limits_);
    journal_what_is_left(gathered_, producers_of_nodes(gathered_).front(), *journal_, lost);
}

BegunRun Resumption::open_again() {
    THALWEG_ASSERT(journal_.has_value(), "a run goes on behind what its journal says about its past");
    auto const& place = unfinished_.place();
    remove_memory_of(unfinished_.head.id, place, unfinished_.journals.front());
    BegunRun begun;
    auto& run = *begun.run;
    run.format = unfinished_.format;
    run.while_waiting = while_waiting_;
    run.head = gathered_.head;
    run.options = tuning_.write;
    run.file = std::move(file_);
    run.journal_lock = std::move(unfinished_.locks.front());
    static_cast<void>(base::try_lock_file(run.journal_lock, place.journal(), false)); // shared from now on
    begun.files = unfinished_.journals.front();
    begun.journal = std::move(journal_);
    begun.tuning = tuning_;
    begun.watch = std::make_shared<FileWatch>(place.data(), place.journal());
    return begun;
}

std::uint64_t Resumption::first_free_offset(BegunRun const& begun) const {
    return dataset::first_free_offset(gathered_, *begun.run->file, *begun.run->format, unfinished_.claimed);
}

void Resumption::make_memory(BegunRun& begun, std::uint64_t first_offset) const {
    auto const folder = memory_folder_of(begun.files);
    make_ledger(begun, memory_fallback(unfinished_.place().data(), folder), true, first_offset);
    auto& ledger = *begun.run->ledger;
    ledger.head().next_producer = resumed_.next_producers.front();
    take_keys_of_units(ledger);
}

void Resumption::take_keys_of_units(Ledger& ledger) const {
    if (gathered_.head.keys_per_group > 0) return take_groups(gathered_.groups, earlier_, gathered_.head, ledger);
    take_keys(resumed_.keys, earlier_, ledger);
    ledger.head().units_committed = resumed_.units.front();
}

void Resumption::count_what_is_there(BegunRun& begun) const {
    if (!begun.run->node) begun.clusters = clusters_so_far(gathered_); // several nodes write no interim footers
    begun.counts = counts_of(gathered_);
    for (auto const& table : gathered_.report.tables) begun.earlier_rows += table.rows;
}

BegunRun resume_alone(std::string const& path, std::optional<model::Schema> const& schema,
                      CreateOptions const& options) {
    auto unfinished = take_over(path, "resume");
    if (options.nodes.nodes != 1) {
        base::fail_usage({"cannot resume the run at " + path,
                          fmt::format("one node wrote it, and {} are given", options.nodes.nodes), "give none"});
    }
    check_resumed(unfinished, schema, options);
    make_journal_durable(unfinished);
    Resumption resumption(std::move(unfinished), options);
    resumption.keep_what_is_there();
    auto begun = resumption.open_again();
    resumption.make_memory(begun, resumption.first_free_offset(begun));
    resumption.count_what_is_there(begun);
    return begun;
}

} // namespace thalweg::dataset
