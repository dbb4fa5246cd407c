#include "thalweg/derive/event_worker.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/run/attach.h"

namespace thalweg::derive {

std::string LoopJob::name_of(LoopRange const& range) const {
    return fmt::format("{}: events {} to {}", files[range.file].path, range.first, range.first + range.count);
}

EventWorker::EventWorker(LoopJob const& job, EventBoard& board, std::vector<LoopTarget> const& targets)
    : job_(job), board_(board), targets_(targets), files_(job.files.size()) {
    for (auto const& target : targets)
        units_.push_back(std::make_unique<dataset::WorkUnits>(dataset::attach(target.handle)));
}

void EventWorker::run(unsigned first_slot, unsigned threads) {
    while (auto const place = board_.take_again()) do_range(first_slot, *place);
    std::vector<base::Thread> others;
    for (unsigned i = 1; i < threads; ++i) others.emplace_back([this, slot = first_slot + i] { run_slot(slot); });
    run_slot(first_slot);
}

void EventWorker::finish() {
    for (auto const& units : units_) units->finish();
}

void EventWorker::run_slot(unsigned slot) {
    while (auto const place = board_.take()) do_range(slot, *place);
}

void EventWorker::do_range(unsigned slot, std::uint64_t place) {
    auto const& range = job_.ranges[job_.waiting[place]];
    board_.begin(slot, place);
    while (!board_.is_stopped()) {
        if (!try_range(range)) continue;
        board_.end(slot, range.count);
        return;
    }
    board_.clear(slot);
}

// False: it failed.
bool EventWorker::try_range(LoopRange const& range) {
    std::string why;
    try {
        OutputUnits units;
        for (std::size_t i = 0; i < targets_.size(); ++i) {
            auto unit = units_[i]->begin(dataset::UnitKey(static_cast<std::int64_t>(range.number)));
            units.emplace(targets_[i].path, OutputUnit{std::move(unit), &targets_[i].schema});
        }
        auto const& file = open_file(range.file);
        Events events(*file.reader, file.table, range, units);
        job_.function(events);
        for (auto& [path, output] : units) {
            std::uint64_t rows = 0;
            for (auto const& table : output.schema->tables) rows += output.unit[table.name].unit_rows();
            output.unit.set_summary(summary_text(range.count, rows, events.sums()));
        }
        for (auto& [path, output] : units) output.unit.commit(); // false: another worker has done the same before
        return true;
    } catch (std::exception const& error) {
        why = error.what();
    } catch (...) {
        why = "the function threw something that is no std::exception";
    }
    if (!board_.may_try_again(range.number)) board_.stop(fmt::format("{} failed ({})", job_.name_of(range), why));
    return false;
}

EventWorker::OpenFile const& EventWorker::open_file(std::size_t file) {
    base::Lock const lock(mutex_);
    THALWEG_ASSERT(file < files_.size(), "a range is of a file of its job");
    auto& open = files_[file];
    if (!open.reader) {
        auto reader = dataset::Reader::open(job_.files[file].path);
        open.table = reader->head().schema.table_index(job_.files[file].table);
        open.reader = std::move(reader);
    }
    return open;
}

std::string summary_text(std::uint64_t events, std::uint64_t rows, std::map<std::string, double> const& sums) {
    return nlohmann::json{events, rows, nlohmann::json::object(), sums}.dump();
}

std::map<std::string, double> sums_in(std::string const& summary) {
    auto const json = nlohmann::json::parse(summary, nullptr, false);
    if (!json.is_array() || json.size() != 4 || !json[3].is_object()) return {};
    std::map<std::string, double> sums;
    for (auto const& [name, value] : json[3].items()) {
        if (value.is_number()) sums[name] = value;
    }
    return sums;
}

} // namespace thalweg::derive
