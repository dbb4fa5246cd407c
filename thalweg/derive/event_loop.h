// Event loops that fill several files at once: workers, which are forked processes or threads, take ranges of events of
// an input and write the rows that they make of them into outputs that all workers share. Nothing is merged behind it.
//
//     derive::Input const input{{"events.root"}, "Events"};
//     derive::Output const muons{"muons.root", {{muon_type().table("muons")}}};
//     auto const report = derive::run_event_loop(input, {muons}, [](derive::Events& events) {
//         auto const pt = events.lists<float>("Muon_pt");
//         dataset::StructRows rows(events["muons.root"], muon_type());
//         for (std::uint64_t i = 0; i < events.size(); ++i)
//             if (pt[i].size() >= 2) rows.append({events.first() + i, pt[i][0]});
//         events.add("events", static_cast<double>(events.size()));
//     }, {.workers = 8});
//
// A range counts once in each output, or not at all: one whose worker has died is done again by another one. So a
// function must make the same rows of the same events. `tw.derive` is the same for Python.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "thalweg/dataset/writer.h"
#include "thalweg/derive/events.h"

namespace thalweg::derive {

struct Input {
    std::vector<std::string> paths;
    std::string table = {}; // empty: the only one
};

struct Output {
    std::string path;
    model::Schema schema;
    dataset::CreateOptions options = {};
};

struct LoopProgress {
    std::uint64_t events = 0;      // of the input
    std::uint64_t events_done = 0; // by this job
    unsigned workers = 0;          // alive
    std::uint64_t failures = 0;
};

struct LoopOptions {
    // Processes; 0: none, the threads are those of the calling process. They are forked: whatever other threads of the
    // calling process hold at that moment, they hold for ever.
    unsigned workers = 1;
    unsigned threads = 1;         // of each: each does ranges of its own
    unsigned attempts = 3;        // for a range that throws, or of which a worker dies
    std::uint64_t timeout_ns = 0; // for a range, whose worker is killed then; 0: none. Not of threads of this process
    // Go on with outputs that were left unfinished: with ranges that they lack.
    bool resume = false;
    // Names the version of the function, in any words: a job of another version is not gone on with.
    std::string version = {};
    // Some times a second, in the calling thread. May throw: the workers end what they do, and the outputs stay as they
    // are, to be resumed.
    std::function<void(LoopProgress const&)> progress = {};
};

struct OutputReport {
    std::string path;
    dataset::CompleteResult result; // of what this job completed; else its report is empty
};

struct LoopReport {
    std::uint64_t events = 0;      // of the input
    std::uint64_t events_done = 0; // by this job: others were there before
    std::uint64_t ranges = 0;
    std::uint64_t ranges_done = 0;
    std::uint64_t failures = 0;         // ranges that failed, and were done again
    std::vector<std::string> deaths;    // of workers, and how
    std::map<std::string, double> sums; // of all ranges, added in their order
    std::vector<OutputReport> outputs;
};

// Throws base::UsageError if input, outputs or options do not fit, base::Error if a range has failed too often
// (it names file and events): the outputs can be resumed then, or recovered.
LoopReport run_event_loop(Input const& input, std::vector<Output> const& outputs,
                          std::function<void(Events&)> const& function, LoopOptions const& options = {});

// Returns the sums that the ranges of an output have added up, in the order of the input.
std::map<std::string, double> sums_of(std::string const& path);

} // namespace thalweg::derive
