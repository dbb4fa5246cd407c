#include "thalweg/dataset/commit/committer.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <system_error>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/run/backoff.h"
#include "thalweg/trace/activity.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kPauseNs = 500'000, kLongestPauseNs = 4'000'000;
constexpr std::uint64_t kMuchJournalBytes = 4096; // that one step adds: some 50 pages
constexpr std::uint64_t kLookIntervalNs = 100'000'000;
constexpr std::uint64_t kLeastAgeOfProducerNs = 50'000'000; // so at most 20 clusters a second end by age
constexpr auto kEverything = std::numeric_limits<std::uint64_t>::max();

// Before a flush journals rows it waits so long, as a part of the interval, for pages that hold them.
constexpr std::uint64_t kGatheringPart = 8;

// What an entry of the table of work units takes at most, times its own size: the smallest has 32 bytes, its record in
// the journal 64, and the file has a range of rows for each of its tables.
constexpr std::uint64_t kJournalBytesOfEntry = 4, kFileBytesOfEntry = 2;

} // namespace

Committer::Committer(OpenRun& run, JournalWriter journal, CommitOptions const& options,
                     std::function<std::uint64_t(PageCounts const&)> reserve_bytes,
                     std::unique_ptr<format::InterimMetadata> interim,
                     std::vector<std::pair<std::size_t, format::ClusterPages>> so_far,
                     std::shared_ptr<FileWatch const> watch)
    : run_(run), journal_(std::move(journal)), options_(options),
      board_(StatusBoard::create(*run.ledger, run.head.schema.tables.size())), figures_(board_.figures()),
      producers_(run, board_), space_(run, journal_, options.allocate_ahead_bytes, std::move(reserve_bytes)),
      clusters_(run.head), durability_(base::monotonic_ns()),
      flush_(run, journal_, std::move(interim), options.interim_footer_share), watch_(std::move(watch)),
      begin_ns_(base::monotonic_ns()), flush_begin_ns_(begin_ns_), last_step_ns_(flush_begin_ns_),
      this_step_ns_(flush_begin_ns_) {
    figures_.units_after_ns = flush_begin_ns_;
    if (run.node) {
        node_watch_.emplace(*run.node);
        heartbeat_.emplace(run.node->parts.beats(run.node->which.node));
    }
    figures_.durable_ns = durability_.durable_ns();
    journal_.reserve_ahead(options_.rows_budget_bytes);
    units_.start_behind(run_.ledger->head().units_committed);
    if (auto const* const units = run_.ledger->units_if_any()) journaled_entry_bytes_ = units->reserved_bytes();
    if (collects_clusters()) clusters_.begin_with(std::move(so_far));
    figures_.units_durable = units_.durable();
    allocate();
    try {
        thread_ = base::Thread([this] { this->run(); });
    } catch (std::system_error const& error) {
        base::fail_system({"cannot start the thread of the committer"}, error.code().value());
    }
}

Committer::~Committer() { stop(); }

void Committer::stop() {
    stop_ = true;
    look_now();
    if (thread_.joinable()) thread_.join();
    flush_.stop();
    run_.ledger->leave_series();
}

// The record is in the journal then, and not yet durable.
void Committer::append_metadata(std::string json) {
    {
        base::Lock const lock(metadata_mutex_);
        metadata_ = std::move(json);
        has_metadata_ = true;
    }
    look_now();
    Backoff backoff;
    while (has_metadata_) {
        run_.ledger->check_alive();
        backoff.pause();
    }
}

void Committer::journal_metadata() {
    if (!has_metadata_) return;
    base::Lock const lock(metadata_mutex_);
    journal_.append_json(RecordType::metadata, metadata_);
    has_metadata_ = false;
}

void Committer::run() {
    try {
        while (!stop_) {
            step();
            figures_.cpu_ns = base::thread_cpu_ns();
            pause();
        }
    } catch (std::exception const& error) {
        error_ = std::current_exception();
        run_.ledger->fail(fmt::format("{} takes no more rows (its committer failed: {}): run `thalweg recover`",
                                      run_.path(), error.what()));
        if (run_.node) run_.node->announce_end(error.what());
    }
}

// As long as little comes, each pause is twice the last one: where workers compute, waking is most of what this thread
// takes.
void Committer::pause() {
    bool const is_quiet = phase_ == Phase::idle && figures_.journal_bytes - journal_bytes_seen_ < kMuchJournalBytes;
    journal_bytes_seen_ = figures_.journal_bytes;
    pause_ns_ = is_quiet ? std::min(2 * pause_ns_, kLongestPauseNs) : kPauseNs;
    base::Lock lock(pause_mutex_);
    if (!looks_now_) wake_.wait_for(lock, pause_ns_);
    looks_now_ = false;
}

void Committer::look_now() {
    {
        base::Lock const lock(pause_mutex_);
        looks_now_ = true;
    }
    wake_.notify_one();
}

void Committer::step() {
    trace::Traced traced(trace::Activity::write_journal, run_.path().c_str(), 0);
    run_.ledger->beat();
    serve_units();
    journal_metadata();
    auto const now = base::monotonic_ns();
    last_step_ns_ = std::exchange(this_step_ns_, now);
    producers_.admit(journal_);
    note_age(now);
    drain();
    allocate();
    if (now >= next_look_ns_) {
        look_for_dead();
        look_for_file();
        look_for_nodes();
        next_look_ns_ = now + kLookIntervalNs;
    }
    advance_flush(now);
    auto const before = figures_.journal_bytes.exchange(journal_.total_bytes());
    if (before == figures_.journal_bytes) return traced.cancel();
    traced.set_size(figures_.journal_bytes - before);
    traced.set_result(0);
}

// Which clusters are too old to stay open (docs/decisions/0046): so few that they do not make the file larger, however
// long the run is and however many producers it has.
void Committer::note_age(std::uint64_t now) {
    if (flush_.interim() == nullptr || options_.interim_footer_share == 0) return;
    auto const age_ns = std::max(
        {2 * options_.flush_interval_ns, (now - begin_ns_) / 10, producers_.all().size() * kLeastAgeOfProducerNs});
    auto const old_before_ns = now - std::min(now, age_ns);
    if (collects_clusters()) run_.ledger->head().old_before_ns = old_before_ns;
    flush_.set_old_before(old_before_ns);
}

bool Committer::collects_clusters() {
    auto const* const interim = flush_.interim();
    return interim != nullptr && interim->takes_clusters();
}

// The table of work units is made when the first one is wanted, and grows ahead of need.
void Committer::serve_units() {
    auto& ledger = *run_.ledger;
    if (ledger.head().units_wanted != 0 && ledger.head().units_ready == 0) ledger.make_units();
    if (auto* const units = ledger.units_if_any()) units->grow();
}

void Committer::take_pages(ProducerIntake& producer) {
    auto const taken = producer.take_pages(journal_, last_step_ns_);
    counts_.all += taken.all;
    counts_.of_lengths += taken.of_lengths;
    count_units(producer);
    if (collects_clusters()) clusters_.take(producer.table(), producer.taken());
    take_units(producer);
}

void Committer::take_units(ProducerIntake& producer) {
    if (auto const* const units = run_.ledger->units_if_any(); units != nullptr && producer.is_of_units())
        units_.take(producer, *units);
}

void Committer::journal_cluster_ends() {
    for (auto const& [table, end] : units_.journal_cluster_ends(journal_)) {
        if (collects_clusters()) clusters_.take(table, {&end, 1});
    }
}

void Committer::drain() {
    for (auto const& producer : producers_.all()) {
        bool const finished = producers_.is_finished(*producer); // before the last look at its ring
        take_pages(*producer);
        if (finished) settle(*producer, false);
    }
    journal_cluster_ends();
    producers_.drop_settled();
    figures_.pages = counts_.all;
}

void Committer::settle(ProducerIntake& producer, bool died) {
    if (producer.settled()) return;
    producers_.settle(producer, journal_, died);
    count_units(producer);
    if (collects_clusters()) clusters_.take(producer.table(), producer.taken());
    take_units(producer);
}

void Committer::count_units(ProducerIntake& producer) {
    counts_.unit_bytes += producer.take_unit_bytes();
    journaled_entry_bytes_ += producer.take_unit_entry_bytes();
}

// Room is kept before it is needed: for pages, and for work units that are not committed yet, whose keys and
// summaries go into the journal and into the finished file.
void Committer::allocate() {
    auto* const units = run_.ledger->units_if_any();
    auto const admitted = units == nullptr ? 0 : std::max(units->wanted_end(), units->admitted_bytes());
    auto const waiting = admitted - std::min(admitted, journaled_entry_bytes_);
    auto counts = counts_;
    counts.unit_bytes += waiting * kFileBytesOfEntry;
    space_.keep_ahead(counts, producers_.unwritten_bytes(),
                      options_.rows_budget_bytes + waiting * kJournalBytesOfEntry);
    if (units != nullptr && run_.ledger->has_room()) units->admit(admitted);
}

// A flush notes what is published; waits a little for pages that are being written; journals the rows that are in no
// page; and syncs. So it costs no more than the interval and the time of the sync to lose the power.
void Committer::advance_flush(std::uint64_t now) {
    auto const gathering_ns = options_.flush_interval_ns / kGatheringPart;
    switch (phase_) {
    case Phase::idle:
        if (!flush_.is_idle()) static_cast<void>(flush_.advance()); // interim metadata
        if (now < flush_begin_ns_ + options_.flush_interval_ns - gathering_ns || !flush_.is_idle()) return;
        note_published(now);
        enter(Phase::gathering);
        [[fallthrough]];
    case Phase::gathering:
        if (!note_covered() && now < flush_begin_ns_ + gathering_ns) return;
        journal_rows();
        begin_flush(now);
        enter(Phase::syncing);
        return;
    case Phase::syncing:
        if (!flush_.advance()) return;
        end_flush(now);
        enter(Phase::idle);
    }
}

void Committer::enter(Phase next) {
    bool const is_next = phase_ == Phase::idle        ? next == Phase::gathering
                         : phase_ == Phase::gathering ? next == Phase::syncing
                                                      : next == Phase::idle;
    THALWEG_ASSERT(is_next, "a flush goes from one phase to the next");
    phase_ = next;
}

void Committer::note_published(std::uint64_t now) {
    flush_begin_ns_ = now;
    look_for_file();
    durability_.note_published(now, producers_.published(options_.journal_units));
}

bool Committer::note_covered() { return durability_.note_covered(producers_.covered()); }

// These are rows of what was noted: a producer at which the budget ends comes first in the next flush. Of work units,
// if they are asked for, all that is committed by now: a unit is known to be complete when all is covered that was when
// it was met.
void Committer::journal_rows() {
    if (options_.journal_units) drain(); // meets all units that were committed when the flush began
    auto const& all = producers_.all();
    auto budget_bytes = options_.rows_budget_bytes;
    auto const first = all.empty() ? 0 : next_journaled_ % all.size();
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto& producer = *all[(first + i) % all.size()];
        auto const found = durability_.wanted().find(producer.number());
        if (found == durability_.wanted().end()) continue;
        next_journaled_ = (first + i) % all.size();
        if (budget_bytes == 0) break;
        auto const taken = producer.is_of_units() ? producer.take_rows(journal_, budget_bytes)
                                                  : producer.take_rows(journal_, found->second, budget_bytes);
        budget_bytes -= std::min(budget_bytes, taken);
    }
}

// Pages are taken once more: rows that were left to them, because they were announced, are in the journal only now.
void Committer::begin_flush(std::uint64_t now) {
    drain();
    flushing_items_ = producers_.covered();
    durability_.note_covered(flushing_items_);
    durability_.flush_begins();
    units_.flush_begins();
    if (collects_clusters()) clusters_.hand_over(*flush_.interim());
    sync_begin_ns_ = now;
    flush_.begin(producers_.rows_appended());
}

void Committer::end_flush(std::uint64_t now) {
    if (run_.node) {
        heartbeat_->beat();
        if (!is_journal_read()) return;
    }
    durability_.flush_ended();
    THALWEG_ASSERT(durability_.durable_ns() >= figures_.durable_ns, "what is durable stays durable");
    figures_.durable_ns = durability_.durable_ns();
    producers_.set_durable(std::move(flushing_items_));
    units_.flush_ended();
    figures_.units_durable = units_.durable();
    auto after_ns = units_.after_ns(last_step_ns_); // those that were committed since are not met yet
    for (auto const& producer : producers_.all())
        after_ns = std::min(after_ns, producer->units_after_ns().value_or(after_ns));
    figures_.units_after_ns = after_ns;
    figures_.sync_ns = now - sync_begin_ns_;
}

CommitStatus Committer::status() const {
    CommitStatus status;
    producers_.add_to(status);
    read_committed(*run_.ledger, figures_, status);
    status.cpu_ns = figures_.cpu_ns;
    status.has_failed = run_.ledger->head().state == LedgerState::failed;
    return status;
}

JournalWriter Committer::finish() {
    stop();
    if (error_) std::rethrow_exception(error_);
    journal_.keep_rows_in_main(); // one file to sync
    producers_.admit(journal_);
    drain();
    for (auto const& producer : producers_.all()) {
        if (!run_.ledger->is_shared() || is_dead(*producer)) settle(*producer, !producers_.is_finished(*producer));
    }
    // In an abandoned run the memory of these stays, for what they may still publish.
    for (auto const& producer : producers_.all()) {
        if (!producer->settled()) producer->take_rows(journal_, kEverything);
    }
    journal_cluster_ends();
    producers_.drop_settled();
    has_everything_ = producers_.all().empty();
    if (has_everything_) {
        space_.finish();
        journal_.append(RecordType::settled, {});
    }
    // A close makes the run complete in the file itself, and needs the journal no more (docs/decisions/0037). But
    // another node may complete the file of several nodes, from the journals of all.
    if (run_.ledger->head().state == LedgerState::closing && !run_.node) {
        // If the power is lost in the midst of that, what other programs saw in the file must be in the journal.
        if (run_.format->shows_rows_before_complete()) flush_.sync_journal();
        return std::move(journal_);
    }
    auto const covers = journal_.size_bytes();
    run_.file->sync();
    if (run_.keys) run_.keys->sync();
    journal_.append(RecordType::barrier, BarrierRecord{covers});
    flush_.sync_journal();
    return std::move(journal_);
}

} // namespace thalweg::dataset
