#include "thalweg/dataset/committer.h"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <limits>
#include <system_error>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kPauseNs = 500'000;
constexpr std::uint64_t kLookIntervalNs = 100'000'000;
constexpr std::uint64_t kFirstAllocationBytes = 16 * base::kMiB;
constexpr std::uint64_t kSmallestAllocationBytes = 4 * base::kMiB;

std::uint64_t bytes_in_no_page(Staging const& staging) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < staging.columns(); ++i) {
        auto const& column = staging.column(i);
        auto const released = std::min(column.released.load(), column.published.load());
        bytes += (column.published.load() - released) * column.item_bytes;
    }
    return bytes;
}

bool is_no_space(int code) { return code == ENOSPC || code == EDQUOT || code == EFBIG; }

} // namespace

Committer::Committer(OpenRun& run, JournalWriter journal, CommitOptions const& options,
                     std::function<std::uint64_t(PageCounts const&)> reserve_bytes)
    : run_(run), journal_(std::move(journal)), options_(options), reserve_bytes_(std::move(reserve_bytes)),
      interim_footers_(run.format->interim_footers(run.head)), clusters_(run.head),
      allocation_bytes_(std::min(kFirstAllocationBytes, options.allocate_ahead_bytes)) {
    durable_ns_ = base::monotonic_ns();
    next_flush_ns_ = durable_ns_ + options_.flush_interval_ns;
    journal_.reserve_ahead(options_.rows_budget_bytes);
    allocate();
    try {
        sync_thread_ = base::Thread([this] { sync_loop(); });
        thread_ = base::Thread([this] { this->run(); });
    } catch (std::system_error const& error) {
        stop();
        base::fail_system({"cannot start the threads of the committer"}, error.code().value());
    }
}

Committer::~Committer() { stop(); }

void Committer::stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    {
        std::lock_guard const lock(sync_mutex_);
        sync_stop_ = true;
    }
    sync_wake_.notify_all();
    if (sync_thread_.joinable()) sync_thread_.join();
}

void Committer::run() {
    try {
        while (!stop_) {
            step();
            cpu_ns_ = base::thread_cpu_ns();
            base::sleep_ns(kPauseNs);
        }
    } catch (std::exception const& error) {
        error_ = std::current_exception();
        run_.ledger->fail(fmt::format("{} takes no more rows (its committer failed: {}): run `thalweg recover`",
                                      run_.path(), error.what()));
    }
}

void Committer::step() {
    run_.ledger->beat();
    admit();
    drain();
    allocate();
    auto const now = base::monotonic_ns();
    if (now >= next_look_ns_) {
        look_for_dead();
        next_look_ns_ = now + kLookIntervalNs;
    }
    advance_flush(now);
    journal_bytes_ = journal_.size_bytes();
}

void Committer::admit() {
    auto& ledger = *run_.ledger;
    for (auto const taken = ledger.slots_taken(); slots_seen_ < taken; ++slots_seen_) waiting_.push_back(slots_seen_);
    std::erase_if(waiting_, [&](std::size_t index) {
        auto& slot = ledger.slot(index);
        if (slot.state < SlotState::active) {
            if (!ledger.is_orphaned(index)) return false;
            slot.state = SlotState::settled;
        }
        if (slot.state == SlotState::settled) { // it never had any rows
            ledger.remove_staging(index);
            return true;
        }
        auto intake = std::make_unique<ProducerIntake>(ledger, run_.head, index, journal_);
        std::lock_guard const lock(mutex_);
        producers_.push_back(std::move(intake));
        return true;
    });
}

void Committer::drain() {
    for (auto& producer : producers_) {
        auto& slot = run_.ledger->slot(producer->slot());
        bool const finished = slot.state == SlotState::finished; // before the last look at its ring
        auto const taken = producer->take_pages(journal_);
        pages_ += taken.all;
        lengths_pages_ += taken.of_lengths;
        if (interim_footers_) clusters_.take(producer->table(), producer->taken());
        if (finished) settle(*producer, false);
    }
    drop_settled();
}

void Committer::look_for_dead() {
    for (auto& producer : producers_) {
        if (run_.ledger->is_orphaned(producer->slot())) settle(*producer, true);
    }
    drop_settled();
}

void Committer::settle(ProducerIntake& producer, bool died) {
    std::lock_guard const lock(mutex_); // status() finds it in one of the lists
    if (producer.settled()) return;
    settled_bytes_ += bytes_in_no_page(producer.staging());
    producer.settle(journal_, died);
    if (interim_footers_) clusters_.take(producer.table(), producer.taken());
    journaled_items_[producer.slot()] = producer.covered_items();
    auto status = status_of(producer);
    status.died = died;
    ended_.push_back(std::move(status));
}

void Committer::drop_settled() {
    std::lock_guard const lock(mutex_);
    std::erase_if(producers_, [&](auto const& producer) {
        if (producer->settled()) run_.ledger->slot(producer->slot()).state = SlotState::settled;
        return producer->settled();
    });
}

// Blocks are allocated before anybody may claim them, and behind them room for the metadata, which grows with the pages
// and the producers: a full disk shows here, while what is claimed can still be written and the file still be closed.
void Committer::allocate() {
    auto& head = run_.ledger->head();
    if (head.claims_refused != 0) return;
    auto const claimed = head.claimed.load();
    auto const claimable = head.claimable.load(), wanted = head.wanted.load();
    auto const free = claimable - claimed;
    bool const enough = free >= std::max(allocation_bytes_ / 2, wanted) && free > 0;
    auto const room = reserve_bytes_({pages_, lengths_pages_}) + unwritten_bytes();
    if (enough && claimable + room <= room_end_) return;
    auto const least = std::max(kSmallestAllocationBytes, wanted);
    auto const half = [&](std::uint64_t bytes) { return bytes > least ? std::max(bytes / 2, least) : 0; };
    for (auto bytes = enough ? free : std::max(allocation_bytes_, wanted); bytes > 0; bytes = half(bytes)) {
        auto const end = std::max(claimable, base::round_up(claimed + bytes, base::kBlockBytes));
        auto const room_end = end + room + room / 4; // more than now, so that it lasts a while
        try {
            run_.file->reserve(claimable, room_end - claimable);
            room_end_ = room_end;
        } catch (base::SystemError const& error) {
            if (!is_no_space(error.code)) throw;
            space_error_ = error.what();
            continue;
        }
        head.claimable = end;
        if (!enough) allocation_bytes_ = std::min(allocation_bytes_ * 2, options_.allocate_ahead_bytes);
        return;
    }
    if (free >= least && claimable + room <= room_end_) return; // a little is left: use it first
    run_.ledger->refuse_claims(fmt::format("{} takes no more rows ({}): what it has is complete once it is closed",
                                           run_.path(), space_error_));
}

// What may still be in no page when the run ends: it goes into the journal then, and into pages of its own.
std::uint64_t Committer::unwritten_bytes() const {
    auto bytes = settled_bytes_;
    for (auto const& producer : producers_) bytes += producer->staging().head().size_bytes;
    return bytes;
}

// Each time another producer comes first, so that a budget which is too small for all is shared.
void Committer::journal_rows() {
    auto budget_bytes = options_.rows_budget_bytes;
    for (std::size_t i = 0; i < producers_.size(); ++i) {
        auto& producer = producers_[(i + flushes_) % producers_.size()];
        budget_bytes -= std::min(budget_bytes, producer->take_rows(journal_, false, budget_bytes));
    }
    ++flushes_;
}

// What the flush that begins now makes durable. Pages are taken once more: rows that were left to them, because they
// were announced, are in the journal only now.
void Committer::note_covered() {
    drain();
    for (auto const& producer : producers_) journaled_items_[producer->slot()] = producer->covered_items();
    flushing_items_ = journaled_items_;
}

void Committer::advance_flush(std::uint64_t now) {
    std::unique_lock lock(sync_mutex_);
    if (sync_error_) std::rethrow_exception(sync_error_);
    switch (sync_) {
    case Sync::idle:
        if (now < next_flush_ns_) return;
        lock.unlock();
        journal_rows();
        note_covered();
        reserve_journal();
        flush_begin_ns_ = now;
        flush_covers_bytes_ = journal_.size_bytes();
        if (interim_footers_) clusters_.hand_over(*interim_footers_);
        lock.lock();
        sync_ = Sync::payload;
        break;
    case Sync::payload_done:
        lock.unlock();
        journal_.append(RecordType::barrier, BarrierRecord{flush_covers_bytes_});
        lock.lock();
        sync_ = Sync::journal;
        break;
    case Sync::journal_done:
        durable_ns_ = flush_begin_ns_;
        sync_ns_ = now - flush_begin_ns_;
        {
            std::lock_guard const status_lock(mutex_);
            durable_items_ = std::move(flushing_items_);
        }
        if (!begin_interim_footer()) {
            end_flush(now);
            return;
        }
        sync_ = Sync::interim_footer;
        break;
    case Sync::interim_footer_done:
        end_flush(now);
        return;
    case Sync::payload:
    case Sync::journal:
    case Sync::interim_footer:
        return; // under way
    }
    sync_wake_.notify_all();
}

void Committer::end_flush(std::uint64_t now) {
    next_flush_ns_ = std::max(now, flush_begin_ns_ + options_.flush_interval_ns);
    sync_ = Sync::idle;
}

// Only where it stays within its share of the file: a full list of pages every second would outgrow the pages.
bool Committer::begin_interim_footer() {
    if (interim_footers_failed_) interim_footers_.reset();
    auto const bytes = interim_footers_ ? base::round_up(interim_footers_->pending_bytes(), base::kBlockBytes) : 0;
    auto const payload_bytes = run_.ledger->head().claimed.load() - interim_footer_bytes_;
    auto const allowed_bytes = options_.interim_footer_share * static_cast<double>(payload_bytes);
    if (bytes == 0 || static_cast<double>(interim_footer_bytes_ + bytes) > allowed_bytes) return false;
    auto const offset = run_.ledger->try_claim(bytes);
    if (!offset) return false;
    interim_footer_offset_ = *offset;
    interim_footer_bytes_ += bytes;
    return true;
}

// Only those who look at the open file need it: where it cannot be written the run goes on without.
void Committer::try_interim_footer() {
    try {
        interim_footers_->write(*run_.file, interim_footer_offset_);
    } catch (base::SystemError const&) {
        interim_footers_failed_ = true;
        return;
    }
    run_.file->sync();
    interim_footers_->publish(*run_.file); // durable with the next sync: until then the last one stands
}

void Committer::reserve_journal() {
    try {
        journal_.reserve_ahead(options_.rows_budget_bytes + unwritten_bytes());
    } catch (base::SystemError const& error) {
        if (!is_no_space(error.code)) throw;
        run_.ledger->refuse_claims(error.what());
    }
}

bool Committer::is_work(Sync sync) {
    return sync == Sync::payload || sync == Sync::journal || sync == Sync::interim_footer;
}

void Committer::sync_loop() {
    std::unique_lock lock(sync_mutex_);
    while (true) {
        sync_wake_.wait(lock, [&] { return sync_stop_ || is_work(sync_); });
        if (sync_stop_) return;
        auto const work = sync_;
        lock.unlock();
        std::exception_ptr error;
        try {
            if (work == Sync::payload) run_.file->sync();
            if (work == Sync::journal) journal_.sync();
            if (work == Sync::interim_footer) try_interim_footer();
        } catch (...) {
            error = std::current_exception();
        }
        lock.lock();
        sync_error_ = error;
        sync_ = static_cast<Sync>(static_cast<int>(work) + 1); // done
    }
}

std::vector<ProducerStatus> Committer::unfinished() const {
    auto found = status().producers;
    std::erase_if(found, [](auto const& producer) { return producer.state == SlotState::settled; });
    return found;
}

ProducerStatus Committer::status_of(ProducerIntake const& producer) const {
    auto const& slot = run_.ledger->slot(producer.slot());
    auto const& staging = producer.staging();
    ProducerStatus status{.slot = producer.slot(), .table = producer.table(), .process = slot.producer};
    status.state = slot.state;
    status.rows = staging.head().rows_published.load();
    for (auto const& count : staging.head().counts) status.counts.push_back(count.load(std::memory_order_relaxed));
    for (std::size_t i = 0; i < staging.columns(); ++i) {
        auto const& column = staging.column(i);
        auto const used =
            static_cast<double>(column.published - std::min(column.released.load(), column.published.load()));
        status.staging_fill =
            std::max(status.staging_fill, used / static_cast<double>(column.page_items * column.buffers));
    }
    return status;
}

CommitStatus Committer::status() const {
    CommitStatus status;
    auto const& ledger = *run_.ledger;
    std::vector<bool> known(ledger.slots_taken());
    {
        std::lock_guard const lock(mutex_);
        status.producers = ended_;
        for (auto& producer : status.producers) producer.state = SlotState::settled;
        for (auto const& producer : producers_) {
            if (!producer->settled()) status.producers.push_back(status_of(*producer));
        }
        for (auto& producer : status.producers) {
            auto const found = durable_items_.find(producer.slot);
            if (found != durable_items_.end()) producer.durable_items = found->second;
        }
    }
    for (auto const& producer : status.producers) {
        if (producer.slot < known.size()) known[producer.slot] = true;
    }
    for (std::size_t i = 0; i < known.size(); ++i) { // not met by the committer yet
        auto const state = ledger.slot(i).state.load();
        if (known[i] || state == SlotState::settled) continue;
        status.producers.push_back({i, 0, {ledger.slot(i).taker, 0, 0}, SlotState::attaching, 0, {}, 0, false});
    }
    status.pages = pages_;
    status.claimed_bytes = ledger.head().claimed;
    status.journal_bytes = journal_bytes_;
    status.durable_lag_ns = base::monotonic_ns() - durable_ns_;
    status.sync_ns = sync_ns_;
    status.cpu_ns = cpu_ns_;
    if (ledger.head().state == LedgerState::failed || ledger.head().claims_refused != 0)
        status.failure = ledger.head().failure;
    return status;
}

JournalWriter Committer::finish() {
    stop();
    if (error_) std::rethrow_exception(error_);
    admit();
    drain();
    for (auto& producer : producers_) {
        if (!run_.ledger->is_shared() || run_.ledger->is_orphaned(producer->slot())) settle(*producer, true);
    }
    drop_settled();
    // Of an abandoned run: the memory of these stays, for what they may still publish.
    for (auto& producer : producers_) producer->take_rows(journal_, true, std::numeric_limits<std::uint64_t>::max());
    auto const covers = journal_.size_bytes();
    run_.file->sync();
    journal_.append(RecordType::barrier, BarrierRecord{covers});
    journal_.sync();
    return std::move(journal_);
}

} // namespace thalweg::dataset
