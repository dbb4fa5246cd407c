#include "thalweg/record/worker.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string_view>
#include <thread>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/run/attach.h"
#include "thalweg/record/append_rows.h"

namespace thalweg::record {
namespace {

// After so many batches the next stream is served.
constexpr int kBatchesPerTurn = 32;
// The pause if no stream had anything. Triggers that come meanwhile wait on board.
constexpr std::uint64_t kIdlePauseNs = base::kMsNs;
constexpr std::uint64_t kRemarksNs = 250 * base::kMsNs;

} // namespace

Worker::Worker(std::string const& handle, source::Source& source, std::vector<std::size_t> const& streams,
               std::optional<unsigned> seal_threads, std::string const& table_prefix) {
    auto const run = dataset::attach(handle, seal_threads);
    for (auto const stream : streams) {
        auto const& name = source.streams().at(stream).name;
        auto const table = run->head.schema.table_index(table_prefix + name);
        streams_.push_back({name, source.open(stream), dataset::Producer(run, table)});
    }
}

void Worker::run() {
    try {
        work();
    } catch (std::exception const& error) {
        for (auto& stream : streams_) {
            publish_counters(stream);              // what is left on board is in no file, and the report says so
            stream.producer.abandon(error.what()); // the report of the run names this error
        }
        throw;
    }
}

void Worker::work() {
    auto const done = [](RecordedStream const& stream) { return stream.done; };
    while (!std::all_of(streams_.begin(), streams_.end(), done)) {
        apply(state_);
        if (base::monotonic_ns() >= next_remarks_ns_) look_at_remarks();
        bool any = false;
        // A single stream waits for what comes, and takes it at once; of several, none may keep the others waiting.
        bool const waits = streams_.size() == 1;
        for (auto& stream : streams_)
            any |= !stream.done && take_turn(stream, waits ? base::monotonic_ns() + kIdlePauseNs : 0);
        if (!any && !waits) std::this_thread::sleep_for(std::chrono::nanoseconds(kIdlePauseNs));
    }
    look_at_remarks();
}

void Worker::pause() {
    auto running = State::running;
    state_.compare_exchange_strong(running, State::paused);
}

void Worker::resume() {
    auto paused = State::paused;
    state_.compare_exchange_strong(paused, State::running);
}

void Worker::apply(State state) {
    if (state == applied_) return;
    THALWEG_ASSERT(applied_ != State::stopping, "stopping is final");
    applied_ = state;
    for (auto& stream : streams_) state == State::running ? stream.reader->resume() : stream.reader->pause();
}

// Returns false if there was nothing to take.
bool Worker::take_turn(RecordedStream& stream, std::uint64_t deadline_ns) {
    auto const show_rows = [](RecordedStream* it) { it->rows->set(it->producer.rows()); };
    std::unique_ptr<RecordedStream, decltype(show_rows)> const at_the_end(&stream, show_rows); // also if append throws
    stream.producer.follow_rotation(); // also for a silent stream: the old file waits for it
    source::Batch batch;
    int batches = 0;
    while (batches < kBatchesPerTurn && stream.reader->next(batch, batches == 0 ? deadline_ns : 0)) {
        append(stream, batch);
        ++batches;
    }
    if (batches == 0) stream.producer.idle();
    publish_counters(stream);
    // A paused reader gives what is on board, so one that gives nothing has no more.
    stream.done = batches < kBatchesPerTurn && (stream.reader->ended() || applied_ == State::stopping);
    if (stream.done) stream.producer.finish();
    return batches > 0;
}

// While the disk is full, rows wait on board, and if the recorder ends the run instead, the error does.
void Worker::append(RecordedStream& stream, source::Batch const& batch) {
    append_rows(
        stream.producer, batch.rows, batch.columns, [this] { return state_ != State::stopping; },
        [&stream] { publish_counters(stream); });
}

void Worker::publish_counters(RecordedStream const& stream) {
    auto const counters = stream.reader->counters();
    auto const& staging = stream.producer.staging();
    auto const set = [&](std::string_view name, std::uint64_t value) {
        staging.named_counter(name).store(value, std::memory_order_relaxed);
    };
    set("triggers", counters.triggers);
    set("lost_triggers", counters.lost);
    set("dead_time_ns", counters.dead_time_ns);
    set("live_time_ns", counters.live_time_ns);
    set("onboard_bytes", counters.onboard_bytes);
    set("onboard_limit_bytes", counters.onboard_limit_bytes);
    for (auto const& [name, value] : counters.named) set(name, value);
}

std::vector<StreamResult> Worker::results() const {
    std::vector<StreamResult> results;
    for (auto const& stream : streams_) results.push_back({stream.name, stream.rows->get(), stream.reader->counters()});
    return results;
}

// The thread that reads a stream is the only one that may ask it.
void Worker::look_at_remarks() {
    next_remarks_ns_ = base::monotonic_ns() + kRemarksNs;
    std::vector<source::Remarks> remarks;
    for (auto const& stream : streams_) remarks.push_back(stream.reader->remarks());
    base::Lock const lock(mutex_);
    remarks_ = std::move(remarks);
}

std::vector<source::Remarks> Worker::remarks() const {
    base::Lock const lock(mutex_);
    return remarks_;
}

} // namespace thalweg::record
