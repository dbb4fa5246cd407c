#include "thalweg/readout/handler/handler.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/random.h"
#include "thalweg/machine/pinning.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kLookForCardNs = 50'000'000;
constexpr char const* kStates[] = {"initial", "configured", "running", "paused", "stopped"};

void sleep_ns(std::uint64_t ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); }

std::uint64_t remaining_ns(std::uint64_t end_ns) {
    auto const now = base::monotonic_ns();
    return end_ns > now ? end_ns - now : 0;
}

bool is_gone(felix::DmaReader const& reader) {
    return !reader.stopped() && reader.heartbeat_age_ns() > felix::kCardGoneNs;
}

void add(BuilderCounters& sum, BuilderCounters const& more) {
    sum.blocks += more.blocks;
    sum.foreign_blocks += more.foreign_blocks;
    sum.foreign_elink = std::max(sum.foreign_elink, more.foreign_elink);
    sum.bad_headers += more.bad_headers;
    sum.busy_ns += more.busy_ns;
    sum.cpu_ns += more.cpu_ns;
    sum.bad_pointers += more.bad_pointers;
}

} // namespace

char const* name_of(ReadoutState state) { return kStates[static_cast<std::size_t>(state)]; }

struct Handler::Run {
    std::uint32_t number = 0;
    std::vector<std::unique_ptr<Group>> groups;
    std::unique_ptr<Index> index;
    std::unique_ptr<Builder> builder;
    BuilderCounters earlier; // sum over the builders of earlier cards
    std::uint64_t card_instance = 0;
    std::uint64_t cards_gone = 0;
    bool is_gone = false;
    bool ended = false;
    std::string problem; // why the next card cannot be used
    std::uint64_t sent_before = 0, sent_bytes_before = 0, server_cpu_before = 0;

    BuilderCounters counters() const {
        auto sum = earlier;
        if (builder) add(sum, builder->counters());
        return sum;
    }
};

Handler::Handler(HandlerConfig config) : config_(std::move(config)), instance_(base::random_word()) {
    validate(config_);
}

Handler::~Handler() {
    watcher_ = {};
    if (run_ && run_->builder) run_->builder->stop(0);
    if (server_) server_->stop();
}

ReadoutState Handler::state() const { return state_; }

std::uint32_t Handler::run() const {
    base::Lock const lock(run_mutex_);
    return run_ ? run_->number : 0;
}

std::string Handler::address() const { return server_ ? server_->address() : config_.server.listen; }

void Handler::require(std::initializer_list<ReadoutState> states, char const* verb) const {
    if (std::find(states.begin(), states.end(), state_.load()) != states.end()) return;
    bool const is_between_runs = state_ == ReadoutState::stopped;
    base::fail_usage({fmt::format("handler {} cannot {}", config_.name, verb), fmt::format("it is {}", name_of(state_)),
                      is_between_runs ? "send `configure` first" : ""});
}

void Handler::configure() {
    require({ReadoutState::initial, ReadoutState::stopped}, "be configured");
    if (!config_.hook.library.empty() && !hook_) hook_ = HookLibrary::load(config_.hook);
    if (!server_) server_ = listen();
    state_ = ReadoutState::configured;
    server_->set_state(ReadoutState::configured);
}

std::unique_ptr<Server> Handler::listen() const {
    auto const pin = [processors = config_.serve_processors](std::uint32_t thread) {
        if (thread < processors.size()) machine::pin_this_thread(processors[thread]);
    };
    try {
        return std::make_unique<Server>(config_.server, instance_, config_.name, pin);
    } catch (base::SystemError const&) { // another address would not help a second handler of one buffer
        felix::check_has_no_reader(config_.buffer);
        throw;
    }
}

felix::DmaReader Handler::wait_for_card(std::uint64_t timeout_ns) const {
    auto const end_ns = base::monotonic_ns() + timeout_ns;
    while (true) {
        try {
            return felix::DmaReader::attach(config_.buffer);
        } catch (base::UsageError const&) { // another process reads it
            throw;
        } catch (base::Error const& error) { // it is not there yet, or is being created
            if (base::monotonic_ns() < end_ns) {
                sleep_ns(kLookForCardNs);
                continue;
            }
            base::fail_system({fmt::format("handler {} has no card", config_.name), error.what(),
                               "start the card, or correct the handler's `card` and `dma`, or its `buffer`"});
        }
    }
}

// The configuration was checked for blocks of 1 kB. A block of 64 kB may hold more packets than a small index has room
// for.
void Handler::check_depth(felix::BlockFormat const& format) const {
    auto const& index = config_.index;
    auto const needed =
        config_.server.outstanding_events + index.close_after_events + slots_ahead(index, format.block_bytes);
    if (needed <= index.events) return;
    base::fail_usage({fmt::format("handler {} cannot read {}", config_.name, config_.buffer),
                      fmt::format("its blocks of {} bytes need an index of {} events, and index.events is {}",
                                  format.block_bytes, needed, index.events),
                      "raise index.events"});
}

void Handler::start(std::uint32_t number, std::uint64_t timeout_ns, bool tries_again) {
    require({ReadoutState::configured}, "start");
    if (tries_again) note_first_start();
    try {
        begin_run(number, timeout_ns);
        note_start("");
    } catch (std::exception const& error) {
        note_start(fmt::format("{}: {}", tries_again ? "it tries again and again to begin a run" : "it has not started",
                               error.what()));
        throw;
    }
}

void Handler::note_first_start() {
    base::Lock const lock(run_mutex_);
    if (start_note_.empty()) start_note_ = "it looks for its card";
}

void Handler::note_start(std::string text) {
    base::Lock const lock(run_mutex_);
    start_note_ = std::move(text);
}

void Handler::begin_run(std::uint32_t number, std::uint64_t timeout_ns) {
    auto reader = wait_for_card(timeout_ns);
    check_depth(reader.format());
    server_->forget_run(); // frees its memory before the next run needs memory
    {
        base::Lock const lock(run_mutex_);
        if (run_)
            for (auto const& group : group_reports()) discarded_before_ += group.discarded;
        run_.reset();
    }
    auto run = std::make_unique<Run>();
    run->number = number;
    auto const activity = std::make_shared<HandlerActivity>();
    std::vector<EventRing*> rings;
    std::uint32_t event_bytes = 0;
    for (auto const& group : config_.groups) {
        run->groups.push_back(std::make_unique<Group>(GroupOptions{.group = group,
                                                                   .trigger = config_.trigger,
                                                                   .index = config_.index,
                                                                   .format = reader.format(),
                                                                   .run = number,
                                                                   .newest_event = reader.newest_event(),
                                                                   .closed_event = reader.closed_event(),
                                                                   .activity = activity,
                                                                   .hook = hook_}));
        rings.push_back(&run->groups.back()->ring());
        event_bytes += group.fragment_bytes;
    }
    run->index = std::make_unique<Index>(std::move(rings), config_.server.lease_ns);
    run->sent_before = server_->fragments_sent();
    run->sent_bytes_before = server_->bytes_sent();
    run->server_cpu_before = server_->cpu_ns();
    server_->begin_run(number, *run->index, static_cast<std::uint32_t>(run->groups.size()), event_bytes,
                       reader.newest_event() != 0);
    {
        base::Lock const lock(run_mutex_);
        run_ = std::move(run);
        start_builder(std::move(reader));
    }
    state_ = ReadoutState::running;
    server_->set_state(ReadoutState::running);
    watcher_ = std::jthread([this](std::stop_token const& stop) { watch_card(stop); });
}

void Handler::start_builder(felix::DmaReader reader) {
    THALWEG_ASSERT(!run_->builder, "a buffer has one builder at a time");
    run_->card_instance = reader.card_instance();
    run_->builder = std::make_unique<Builder>(std::move(reader), run_->groups,
                                              BuilderOptions{.threads = build_threads(config_),
                                                             .poll_ns = config_.poll_ns,
                                                             .processors = config_.build_processors});
}

void Handler::pause() {
    require({ReadoutState::running}, "pause");
    base::Lock const lock(run_mutex_);
    run_->builder->pause(true);
    state_ = ReadoutState::paused;
    server_->set_state(ReadoutState::paused);
}

void Handler::resume() {
    require({ReadoutState::paused}, "go on");
    base::Lock const lock(run_mutex_);
    run_->builder->pause(false);
    state_ = ReadoutState::running;
    server_->set_state(ReadoutState::running);
}

void Handler::stop(std::uint64_t drain_ns) {
    require({ReadoutState::running, ReadoutState::paused}, "stop");
    watcher_ = {};
    auto const end_ns = base::monotonic_ns() + drain_ns;
    auto& run = own_run();
    run.builder->stop(drain_ns);
    run.builder->complete_newest(std::min(drain_ns / 2, config_.index.close_after_ns + config_.index.dead_after_ns));
    for (auto const& group : run.groups) group->finish();
    state_ = ReadoutState::stopped;
    server_->set_state(ReadoutState::stopped);
    server_->end_run();
    if (auto const closed = run.index->closed_event(); closed != 0) run.builder->note_closed(closed);
    server_->wait_until_cleared(remaining_ns(end_ns), cut_short_.get_token());
    server_->wait_until_told(remaining_ns(end_ns), cut_short_.get_token());
    base::Lock const lock(run_mutex_);
    run.earlier = run.counters();
    run.ended = true;
    run.builder.reset(); // unlocks the buffer, too
    for (auto const& report : group_reports())
        THALWEG_ASSERT_COSTLY(report.balances(), "every built event is in one account");
}

void Handler::cut_short() {
    cut_short_.request_stop();
    base::Lock const lock(run_mutex_);
    if (run_ && run_->builder) run_->builder->cut_short();
}

// A card that is silent for a second counts as gone; another one may take its place at any time.
void Handler::watch_card(std::stop_token const& stop) {
    auto& run = own_run();
    while (!stop.stop_requested()) {
        sleep_ns(kLookForCardNs);
        auto const& reader = run.builder->reader();
        bool const gone = !reader.stopped() && reader.heartbeat_age_ns() > felix::kCardGoneNs;
        if (gone && !run.is_gone) {
            base::Lock const lock(run_mutex_);
            ++run.cards_gone;
            run.is_gone = true;
        }
        if (!gone && !reader.stopped()) {
            run.is_gone = false;
            continue;
        }
        auto next = felix::DmaReader::find_other(config_.buffer, run.card_instance);
        if (!next) continue;
        if (next->format() != reader.format()) {
            base::Lock const lock(run_mutex_);
            run.problem = fmt::format("the new card of {} has blocks of another format: begin a new run for it, with "
                                      "POST /control/stop, configure and start",
                                      config_.buffer);
            continue;
        }
        // Everything that the old card has written is read first, however long an index is full.
        while (!run.builder->has_read_all() && !stop.stop_requested()) sleep_ns(kLookForCardNs);
        if (!stop.stop_requested()) change_card(std::move(*next));
    }
}

void Handler::change_card(felix::DmaReader reader) {
    own_run().builder->stop(0);
    base::Lock const lock(run_mutex_);
    run_->earlier = run_->counters();
    run_->builder.reset();
    std::uint64_t epoch = 0;
    for (auto const& group : run_->groups) epoch = std::max(epoch, group->next_epoch());
    for (auto const& group : run_->groups) group->begin_epoch(epoch);
    run_->is_gone = false;
    run_->problem.clear();
    start_builder(std::move(reader));
    run_->builder->pause(state_ == ReadoutState::paused);
}

bool Handler::Report::balances() const {
    for (auto const& group : groups) {
        if (!std::all_of(group.streams.begin(), group.streams.end(), [](auto& it) { return it.balances(); }))
            return false;
        if (ended && !group.balances()) return false;
    }
    return true;
}

std::uint64_t Handler::Report::lost() const {
    std::uint64_t sum = 0;
    for (auto const& group : groups) sum += group.skipped + group.discarded;
    return sum;
}

std::vector<GroupReport> Handler::group_reports() const {
    std::vector<GroupReport> reports;
    // Read before the groups report what they have built, so that this is never less.
    auto const books = run_->index->books();
    for (std::size_t i = 0; i < run_->groups.size(); ++i) {
        auto& report = reports.emplace_back(run_->groups[i]->report());
        report.cleared = books[i].cleared;
        report.evicted = books[i].evicted;
        report.skipped = books[i].skipped;
        (run_->ended ? report.discarded : report.kept) = books[i].kept;
    }
    return reports;
}

std::uint64_t Handler::discarded_before() const {
    base::Lock const lock(run_mutex_);
    return discarded_before_;
}

Handler::Report Handler::report() const {
    base::Lock const lock(run_mutex_);
    Report report;
    if (!run_) return report;
    report.run = run_->number;
    report.groups = group_reports();
    report.ended = run_->ended;
    report.builder = run_->counters();
    report.cards_gone = run_->cards_gone;
    report.fragments_sent = server_->fragments_sent() - run_->sent_before;
    report.bytes_sent = server_->bytes_sent() - run_->sent_bytes_before;
    report.server_cpu_ns = server_->cpu_ns() - run_->server_cpu_before;
    return report;
}

// Says why a handler reads nothing that is in no run, or is paused, and what brings it further.
std::string Handler::why_idle(ReadoutState state) const {
    if (state == ReadoutState::initial) return "POST /control/configure prepares it";
    if (state == ReadoutState::paused) return "POST /control/resume lets it read on";
    base::Lock const lock(run_mutex_);
    if (state == ReadoutState::configured)
        return start_note_.empty() ? "POST /control/start begins a run" : start_note_;
    if (!run_->ended) return fmt::format("collectors fetch the rest of run {}", run_->number);
    return fmt::format("run {} is over, and POST /control/configure and then start begin another one", run_->number);
}

std::string Handler::not_ready() const {
    auto const state = state_.load();
    if (state != ReadoutState::running)
        return fmt::format("{} is {}: {}", config_.name, name_of(state), why_idle(state));
    base::Lock const lock(run_mutex_);
    if (!run_->builder) return fmt::format("{} changes to another card", config_.name);
    auto const& reader = run_->builder->reader();
    auto trouble = trouble_of_card();
    if (trouble.empty()) return reader.stopped() ? fmt::format("the card of {} has stopped", config_.buffer) : "";
    if (!run_->problem.empty() || !is_gone(reader)) return trouble;
    return fmt::format("{}: no sign of life for {:.1f} s", trouble,
                       static_cast<double>(reader.heartbeat_age_ns()) * 1e-9);
}

std::string Handler::trouble() const {
    base::Lock const lock(run_mutex_);
    return run_ && run_->builder ? trouble_of_card() : "";
}

std::string Handler::trouble_of_card() const {
    if (!run_->problem.empty()) return run_->problem;
    if (is_gone(run_->builder->reader())) return fmt::format("the card of {} is gone", config_.buffer);
    auto const counts = run_->counters();
    // A block of each e-link that there can be: those of groups would have had their turn.
    if (counts.blocks != 0 || counts.foreign_blocks < felix::kElinks) return "";
    return fmt::format("the card of {} sends only blocks of e-links that are in no group, such as {}: correct `elinks`",
                       config_.buffer, counts.foreign_elink);
}

} // namespace thalweg::readout
