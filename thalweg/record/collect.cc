#include "thalweg/record/collect.h"

#include <algorithm>
#include <deque>
#include <exception>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/shared_number.h"
#include "thalweg/record/event_rows.h"

namespace thalweg::record {
namespace {

// Size of the rows that are gathered: they stay in the cache until they are appended.
constexpr std::uint64_t kBatchBytes = 512 << 10;
constexpr std::uint64_t kBatchRows = 4096;
constexpr std::uint64_t kLongestWaitNs = 50'000'000; // the longest time that a row waits for others
constexpr std::uint64_t kLookIntervalNs = 10'000'000;

} // namespace

struct Collector::State {
    State(dataset::Writer& to, CollectOptions const& given)
        : options(given), writer(to), client(given.client), producer(to.producer("events")) {}

    // A range, and the number of items that every column has after it.
    struct PendingRange {
        readout::RangeId range;
        std::vector<std::uint64_t> items;
    };

    bool is_full() const { return options.max_events > 0 && producer.rows() + gathered.rows() >= options.max_events; }
    void take(readout::Event const& event);
    void end(readout::RangeId range);
    void append();
    void look();
    void commit_durable();
    void settle();

    CollectOptions options;
    dataset::Writer& writer;
    readout::Client client;
    dataset::Producer producer;
    EventRows gathered;
    std::deque<PendingRange> pending;
    std::uint64_t gathering_since_ns = 0;
    std::uint64_t next_look_ns = 0;
    std::uint64_t full_at = 0; // the last event that was taken, if no more are wanted
    bool full = false;
    base::SharedNumber rows, bytes, left_out, not_cleared;
};

void Collector::State::take(readout::Event const& event) {
    if (full) return;
    if (options.complete_only && event.state != readout::EventState::complete) {
        left_out.add(1);
        return;
    }
    if (gathered.rows() == 0) gathering_since_ns = base::monotonic_ns();
    gathered.add(event);
    if (is_full()) {
        full = true;
        full_at = event.event;
        client.stop();
    }
    if (gathered.data_bytes() >= kBatchBytes || gathered.rows() >= kBatchRows) append();
}

void Collector::State::end(readout::RangeId range) {
    if (full) {
        if (full_at < range.first || full_at >= range.first + range.count) return; // no event of it was taken
        range.count = full_at + 1 - range.first;
        full_at = 0;
    }
    pending.push_back({range, gathered.items()});
    THALWEG_ASSERT(pending.size() < 2 || pending[pending.size() - 2].items[0] <= pending.back().items[0],
                   "ranges wait in the order of their rows");
    not_cleared.set(pending.size());
}

void Collector::State::append() {
    if (gathered.rows() == 0) return;
    // Clears the rows also after an error, if the file has taken some of them: no row is appended twice.
    struct Forget {
        State& state;
        ~Forget() {
            state.rows.set(state.producer.rows());
            state.gathered.clear();
        }
    } const forget{*this};
    auto const columns = gathered.columns();
    producer.append(gathered.rows(), columns);
    for (auto const& column : columns) bytes.add(column.size());
}

void Collector::State::look() {
    auto const now = base::monotonic_ns();
    if (now < next_look_ns) return;
    next_look_ns = now + kLookIntervalNs;
    if (gathered.rows() > 0 && now > gathering_since_ns + kLongestWaitNs) append();
    if (gathered.rows() == 0) producer.idle();
    commit_durable();
}

// Tells handlers to forget only events that a power cut cannot destroy any more.
void Collector::State::commit_durable() {
    if (pending.empty()) return;
    auto const status = writer.status();
    dataset::ProducerStatus const* ours = nullptr; // nullptr: it has ended, and all its rows are durable
    for (auto const* list : {&status.producers, &status.settled}) {
        for (auto const& each : *list) {
            if (each.number == producer.number()) ours = &each;
        }
    }
    auto const is_durable = [&](PendingRange const& it) {
        if (ours == nullptr) return it.items[0] <= producer.rows();
        auto const& durable = ours->durable_items;
        return it.items.size() == durable.size() &&
               std::equal(durable.begin(), durable.end(), it.items.begin(), std::greater_equal<>());
    };
    for (; !pending.empty() && is_durable(pending.front()); pending.pop_front()) client.commit(pending.front().range);
    not_cleared.set(pending.size());
}

void Collector::State::settle() {
    auto const end_ns = base::monotonic_ns() + options.settle_ns;
    // Events that the file has not taken stay with the handlers.
    auto const may_become_durable = [&] { return !pending.empty() && pending.front().items[0] <= producer.rows(); };
    while (may_become_durable() && base::monotonic_ns() < end_ns && writer.status().failure.empty()) {
        client.keep_up(kLookIntervalNs);
        commit_durable();
    }
    client.settle(std::min<std::uint64_t>(options.settle_ns, 2'000'000'000));
}

Collector::Collector(dataset::Writer& writer, CollectOptions const& options)
    : state_(std::make_unique<State>(writer, options)) {}

Collector::~Collector() = default;

void Collector::run() {
    auto& state = *state_;
    std::exception_ptr error;
    auto const attempt = [&error](auto&& step) {
        try {
            step();
        } catch (...) {
            if (!error) error = std::current_exception();
        }
    };
    attempt([&] {
        state.client.run({.event = [&](readout::Event const& event) { state.take(event); },
                          .end_of_range = [&](readout::RangeId const& range) { state.end(range); },
                          .idle = [&] { state.look(); }});
    });
    attempt([&] { state.append(); });
    attempt([&] { state.producer.finish(); });
    attempt([&] { state.settle(); });
    if (error) std::rethrow_exception(error);
}

void Collector::stop() { state_->client.stop(); }

readout::ClientCounters Collector::counters() const { return state_->client.counters(); }
std::vector<readout::MissingParts> Collector::missing_parts() const { return state_->client.missing_parts(); }
std::uint64_t Collector::rows() const { return state_->rows.get(); }
std::uint64_t Collector::bytes() const { return state_->bytes.get(); }
std::uint64_t Collector::left_out() const { return state_->left_out.get(); }
std::uint64_t Collector::not_cleared() const { return state_->not_cleared.get(); }
std::uint32_t Collector::run_number() const { return state_->client.run_number(); }
std::vector<readout::AwayHandler> Collector::away() const { return state_->client.away(); }
std::string Collector::waiting_for() const { return state_->client.waiting_for(); }

} // namespace thalweg::record
