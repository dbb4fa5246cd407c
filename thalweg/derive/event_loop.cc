#include "thalweg/derive/event_loop.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/derive/kept_columns.h"
#include "thalweg/derive/loop_outputs.h"
#include "thalweg/derive/worker_processes.h"

namespace thalweg::derive {
namespace {

constexpr std::uint64_t kWaitNs = 2'000'000;
constexpr std::uint64_t kProgressNs = 100'000'000;
constexpr std::uint64_t kClustersPerWorker = 4;
constexpr unsigned kMostIdleDeaths = 5; // one after the other, of workers that did nothing

struct Described {
    std::vector<LoopFile> files;
    std::vector<InputTable> tables;
    std::string identity;
    std::uint64_t events = 0;
};

// Returns the rows at which pages end in the column with the largest pages, of the columns that have one item a row and
// several pages.
std::vector<std::uint64_t> page_ends(dataset::Reader const& reader, std::size_t table) {
    std::vector<std::uint64_t> best;
    auto const rows = reader.rows(table);
    auto const& columns = reader.head().columns[table];
    for (std::size_t column = 0; column < columns.size(); ++column) {
        if (columns[column].parent) continue;
        std::vector<std::uint64_t> ends;
        for (std::uint64_t row = 0; row < rows; row = ends.back())
            ends.push_back(std::min(rows, reader.page_end(table, column, row)));
        if (ends.size() > 1 && (best.empty() || ends.size() < best.size())) best = std::move(ends);
    }
    if (best.empty() && rows > 0) best = {rows};
    return best;
}

std::uint64_t raw_bytes(dataset::Reader const& reader, std::size_t table) {
    std::uint64_t bytes = 0;
    auto const& columns = reader.head().columns[table];
    for (std::size_t column = 0; column < columns.size(); ++column) {
        std::uint64_t items = 0;
        auto const& map = reader.column(table, column);
        for (auto const& page : map.pages) items = std::max(items, page.first + page.count);
        bytes += items * (map.by_value ? model::size_bytes(columns[column].scalar) : columns[column].item_bytes());
    }
    return bytes;
}

std::size_t table_of(dataset::Reader const& reader, std::string const& name) {
    auto const& schema = reader.head().schema;
    if (!name.empty()) return schema.table_index(name, reader.path());
    if (schema.tables.size() == 1) return 0;
    base::fail_usage({fmt::format("{} has {} tables", reader.path(), schema.tables.size()),
                      "the input of the job names none", fmt::format("name one, as '{}'", schema.tables.front().name)});
}

Described describe(Input const& input, unsigned workers) {
    if (input.paths.empty()) base::fail_usage({"a job needs an input", "no file is given"});
    Described described;
    auto identity = nlohmann::json::array();
    for (auto const& path : input.paths) {
        auto const is_same = [&](auto const& file) { return file.path == path; };
        if (std::ranges::any_of(described.files, is_same))
            base::fail_usage({fmt::format("{} is given twice as input", path), "its events would be there twice"});
        auto const reader = dataset::Reader::open(path);
        if (reader->is_open_run())
            base::fail_usage({fmt::format("{} is no input", path), "it is still being written, or waits for recovery"});
        auto const table = table_of(*reader, input.table);
        auto const rows = reader->rows(table);
        auto const stored = stored_clusters(*reader, table);
        auto ends = stored ? cluster_ends(*stored) : std::vector<std::uint64_t>();
        // With few clusters, to decode some of them twice costs less than to leave workers without any.
        if (ends.size() * input.paths.size() < kClustersPerWorker * workers) ends = page_ends(*reader, table);
        described.files.push_back({path, reader->head().schema.tables[table].name});
        described.tables.push_back({rows, raw_bytes(*reader, table), std::move(ends)});
        identity.push_back({described.files.back().table, rows, std::filesystem::file_size(path), reader->head().id});
        described.events += rows;
    }
    described.identity = identity.dump();
    return described;
}

void check(std::vector<Output> const& outputs, LoopOptions const& options) {
    if (outputs.empty()) base::fail_usage({"a job needs an output", "none is given"});
    if (options.threads == 0 || options.attempts == 0)
        base::fail_usage({"a job cannot run so", "`threads` or `attempts` is 0", "give 1 or more"});
    for (auto const& output : outputs) {
        if (output.options.keys_per_group > 0) {
            base::fail_usage({fmt::format("{} cannot be in the order of the input", output.path),
                              "event loops commit one range at a time", "leave keys_per_group out"});
        }
        if (std::ranges::count(outputs, output.path, &Output::path) > 1)
            base::fail_usage({fmt::format("{} is given twice as output", output.path)});
    }
}

// Gives out ranges to processes until none is left, and takes up what dead ones leave.
class RunningLoop {
  public:
    RunningLoop(LoopJob const& job, EventBoard& board, LoopOutputs const& outputs, LoopOptions const& options,
                LoopReport& report)
        : job_(job), board_(board), outputs_(outputs), options_(options), report_(report), targets_(outputs.targets()) {
    }

    void run_processes() {
        WorkerProcesses workers([this](unsigned number) { work(number); },
                                [this](std::string const& why) { board_.stop(why); });
        for (unsigned i = 0; i < options_.workers && i < job_.waiting.size(); ++i) workers.start(i);
        while (workers.alive() > 0) {
            while (auto const end = workers.ended()) {
                if (end->died) died(*end);
                bool const is_lacking = workers.alive() == 0 && !board_.has_more() && give_what_is_lacking();
                if (!board_.is_stopped() && (end->died || is_lacking) && board_.has_more()) workers.start(end->number);
            }
            kill_what_takes_too_long(workers);
            tell(workers.alive());
            base::sleep_ns(kWaitNs);
        }
    }

    void run_threads() {
        std::atomic<bool> is_over = false;
        base::Thread const thread([&] {
            try {
                work(0);
            } catch (std::exception const& error) {
                board_.stop(error.what());
            }
            is_over = true;
        });
        while (!is_over) {
            tell(1);
            base::sleep_ns(kWaitNs);
        }
    }

  private:
    void work(unsigned number) {
        EventWorker worker(job_, board_, targets_);
        worker.run(number * options_.threads, options_.threads);
        worker.finish();
    }

    void died(WorkerEnd const& end) {
        THALWEG_ASSERT(end.number < options_.workers, "a worker that dies has slots of its own");
        report_.deaths.push_back(end.how);
        std::vector<std::pair<unsigned, std::uint64_t>> doing; // slot, place
        for (auto slot = end.number * options_.threads; slot < (end.number + 1) * options_.threads; ++slot) {
            if (auto const one = board_.doing(slot)) doing.emplace_back(slot, one->place);
        }
        idle_deaths_ = doing.empty() ? idle_deaths_ + 1 : 0;
        if (idle_deaths_ >= kMostIdleDeaths)
            board_.stop(fmt::format("workers die before they do anything ({})", end.how));
        for (auto const& [slot, place] : doing) {
            board_.clear(slot);
            auto const& range = job_.ranges[job_.waiting[place]];
            if (outputs_.has(range)) continue;
            // If there are several, it is not known which one killed it: they are done again one by one.
            bool const may_try = doing.size() > 1 || board_.may_try_again(range.number);
            if (!may_try) board_.stop(fmt::format("{} failed ({})", job_.name_of(range), end.how));
            board_.give_again(place);
        }
    }

    // A worker that is killed between taking a range and saying so leaves a range that no worker has.
    bool give_what_is_lacking() {
        bool any = false;
        for (std::uint64_t place = 0; place < job_.waiting.size(); ++place) {
            if (outputs_.has(job_.ranges[job_.waiting[place]])) continue;
            board_.give_again(place);
            any = true;
        }
        return any;
    }

    void kill_what_takes_too_long(WorkerProcesses& workers) const {
        if (options_.timeout_ns == 0) return;
        for (unsigned slot = 0; slot < options_.workers * options_.threads; ++slot) {
            auto const doing = board_.doing(slot);
            if (!doing || base::monotonic_ns() - doing->since_ns < options_.timeout_ns) continue;
            workers.kill(slot / options_.threads, fmt::format("a range took longer than {:g} s",
                                                              static_cast<double>(options_.timeout_ns) / 1e9));
        }
    }

    void tell(unsigned workers) {
        if (!options_.progress || base::monotonic_ns() - told_ns_ < kProgressNs) return;
        told_ns_ = base::monotonic_ns();
        try {
            if (!thrown_) options_.progress({report_.events, board_.events_done(), workers, board_.failures()});
        } catch (...) {
            thrown_ = std::current_exception();
            board_.stop("its progress was told, and that threw");
        }
    }

  public:
    std::exception_ptr thrown() const { return thrown_; }

  private:
    LoopJob const& job_;
    EventBoard& board_;
    LoopOutputs const& outputs_;
    LoopOptions const& options_;
    LoopReport& report_;
    std::vector<LoopTarget> targets_;
    std::uint64_t told_ns_ = 0;
    unsigned idle_deaths_ = 0;
    std::exception_ptr thrown_;
};

} // namespace

LoopReport run_event_loop(Input const& input, std::vector<Output> const& outputs,
                          std::function<void(Events&)> const& function, LoopOptions const& options) {
    check(outputs, options);
    auto const workers = std::max(1u, options.workers) * options.threads;
    auto const described = describe(input, workers);
    LoopOutputs open(outputs, described.identity, options);
    auto const ends = open.ends().value_or(plan_ranges(described.tables, workers));
    LoopJob job{described.files, ranges_of(ends), {}, function};
    open.open(ends, options.resume);
    job.waiting = open.lacking(job.ranges);
    EventBoard board(job.waiting.size(), job.ranges.size(), options.attempts, workers);
    LoopReport report;
    report.events = described.events;
    report.ranges = job.ranges.size();
    RunningLoop loop(job, board, open, options, report);
    if (!job.waiting.empty()) options.workers > 0 ? loop.run_processes() : loop.run_threads();
    report.events_done = board.events_done();
    report.ranges_done = board.ranges_done();
    report.failures = board.failures();
    if (loop.thrown()) {
        open.abandon();
        std::rethrow_exception(loop.thrown());
    }
    if (board.is_stopped()) {
        open.abandon();
        throw base::Error(
            base::Message{"the job was stopped", board.why(), "mend that, and resume it: what is done stays"}.str());
    }
    report.outputs = open.close();
    report.sums = sums_of(outputs.front().path);
    return report;
}

std::map<std::string, double> sums_of(std::string const& path) {
    auto units = dataset::Reader::open(path)->units();
    std::ranges::sort(units, {}, &dataset::Unit::key);
    std::map<std::string, double> sums;
    for (auto const& unit : units) {
        for (auto const& [name, value] : sums_in(unit.summary)) sums[name] += value;
    }
    return sums;
}

} // namespace thalweg::derive
