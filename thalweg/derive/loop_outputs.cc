#include "thalweg/derive/loop_outputs.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/complete/nodes_down.h"
#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/run/run_place.h"

namespace thalweg::derive {
namespace {

constexpr char const *kInput = "event_loop.input", *kRanges = "event_loop.ranges", *kVersion = "event_loop.version";
constexpr std::uint64_t kCloseNs = 60'000'000'000;

// Returns false if its creator died before anything was recorded: the next creation clears that away.
bool is_there(std::string const& path) {
    auto const places = dataset::places_of_run(path);
    return places.empty() ? dataset::exists(path) : !dataset::is_stub(places);
}

std::string value(std::map<std::string, std::string> const& metadata, std::string const& name) {
    auto const found = metadata.find(name);
    return found == metadata.end() ? "" : found->second;
}

} // namespace

LoopOutputs::LoopOutputs(std::vector<Output> const& outputs, std::string identity, LoopOptions const& options)
    : identity_(std::move(identity)), version_(options.version) {
    for (auto const& output : outputs) {
        auto& each = outputs_.emplace_back(Open{output, nullptr, {}, is_there(output.path)});
        if (each.is_there && !options.resume && !output.options.force) // before any other is created
            base::fail_usage({fmt::format("{} is there already", output.path), "",
                              "`force` replaces it, and `resume` goes on with what was left unfinished"});
        if (each.is_there && options.resume) look_at(each, options.version);
    }
}

void LoopOutputs::look_at(Open& each, std::string const& version) {
    auto const& path = each.output.path;
    auto reader = dataset::Reader::open(path);
    auto const& metadata = reader->metadata();
    auto const refuse = [&](std::string const& why) {
        base::fail_usage({fmt::format("{} cannot be gone on with", path), why, "begin anew with `force`"});
    };
    if (!metadata.contains(kInput) || !metadata.contains(kRanges)) refuse("no job of an event loop has written it");
    if (value(metadata, kInput) != identity_) refuse("its input is another one, or has changed");
    if (auto const was = value(metadata, kVersion); was != version)
        refuse(fmt::format("its function has version '{}', and '{}' is given", was, version));
    auto ends = nlohmann::json::parse(value(metadata, kRanges)).get<RangeEnds>();
    if (ends_ && *ends_ != ends) refuse("its ranges are not those of the other outputs");
    ends_ = std::move(ends);
    if (reader->is_open_run()) return;
    reader.reset();
    // It was killed between completing the file and removing the journal, which this does.
    if (!dataset::places_of_run(path).empty()) dataset::recover(path);
    for (auto const& unit : dataset::Reader::open(path)->units()) each.has.insert(unit.key.integer);
}

void LoopOutputs::open(RangeEnds const& ends, bool resume) {
    for (auto& each : outputs_) {
        if (resume && each.is_there && dataset::places_of_run(each.output.path).empty()) continue;
        auto options = each.output.options;
        options.shared = true;
        if (each.is_there && resume) {
            each.writer = dataset::Writer::resume(each.output.path, each.output.schema, options);
        } else {
            each.writer = dataset::Writer::create(
                each.output.path, each.output.schema, options,
                {{kInput, identity_}, {kRanges, nlohmann::json(ends).dump()}, {kVersion, version_}});
        }
    }
}

bool LoopOutputs::has(LoopRange const& range) const {
    auto const key = static_cast<std::int64_t>(range.number);
    return std::ranges::all_of(outputs_, [&](auto const& each) {
        return each.writer ? each.writer->is_committed(dataset::UnitKey(key)) : each.has.contains(key);
    });
}

std::vector<std::uint64_t> LoopOutputs::lacking(std::vector<LoopRange> const& ranges) const {
    std::vector<std::uint64_t> lacking;
    for (auto const& range : ranges) {
        if (!has(range)) lacking.push_back(range.number);
    }
    std::ranges::stable_sort(lacking, [&](auto a, auto b) { return ranges[a].count > ranges[b].count; });
    auto const complete = std::ranges::find_if(outputs_, [](auto const& each) { return !each.writer; });
    if (complete != outputs_.end() && !lacking.empty()) {
        base::fail_usage({fmt::format("{} cannot be gone on with", complete->output.path),
                          fmt::format("it is complete, and {} ranges are still to be done", lacking.size()),
                          "begin anew with `force`"});
    }
    return lacking;
}

std::vector<LoopTarget> LoopOutputs::targets() const {
    THALWEG_ASSERT(std::ranges::all_of(outputs_, [](auto const& each) { return each.writer || each.is_there; }),
                   "an output is open or was complete before");
    std::vector<LoopTarget> targets;
    for (auto const& each : outputs_) {
        if (each.writer) targets.push_back({each.output.path, each.writer->handle(), each.output.schema});
    }
    return targets;
}

std::vector<OutputReport> LoopOutputs::close() {
    std::vector<OutputReport> reports;
    for (auto& each : outputs_)
        reports.push_back({each.output.path, each.writer ? each.writer->close(kCloseNs) : dataset::CompleteResult{}});
    return reports;
}

void LoopOutputs::abandon() {
    for (auto& each : outputs_) {
        if (each.writer) each.writer->abandon();
    }
}

} // namespace thalweg::derive
