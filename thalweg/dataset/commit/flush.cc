#include "thalweg/dataset/commit/flush.h"

#include <system_error>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/trace/activity.h"

namespace thalweg::dataset {

Flush::Flush(OpenRun& run, JournalWriter& journal, double interim_footer_share)
    : run_(run), journal_(journal), interim_footer_share_(interim_footer_share),
      interim_footers_(run.node ? nullptr : run.format->interim_footers(run.head)),
      last_footer_ns_(base::monotonic_ns()) {
    try {
        thread_ = base::Thread([this] { loop(); });
    } catch (std::system_error const& error) {
        base::fail_system({"cannot start the thread that syncs"}, error.code().value());
    }
}

Flush::~Flush() { stop(); }

void Flush::stop() {
    {
        base::Lock const lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
}

bool Flush::is_idle() {
    base::Lock const lock(mutex_);
    if (error_) std::rethrow_exception(error_);
    return step_ == Step::idle;
}

void Flush::go_on_to(Step step) {
    {
        base::Lock const lock(mutex_);
        step_ = step;
    }
    wake_.notify_all();
}

void Flush::begin() {
    THALWEG_ASSERT(is_idle(), "one flush is under way at a time");
    auto const journal_bytes = journal_.size_bytes();
    THALWEG_ASSERT(journal_bytes >= covers_bytes_, "what a BARRIER covers never falls");
    covers_bytes_ = journal_bytes;
    // Nothing has come since the last one: on a full disk the journal must not grow by itself.
    bool const is_covered = !run_.ledger->has_room() && covers_bytes_ == barrier_end_;
    go_on_to(is_covered ? Step::journal_done : Step::payload);
}

bool Flush::advance() {
    Step step;
    {
        base::Lock const lock(mutex_);
        if (error_) std::rethrow_exception(error_);
        step = step_;
    }
    switch (step) {
    case Step::payload_done:
        journal_.append(RecordType::barrier, BarrierRecord{covers_bytes_});
        barrier_end_ = journal_.size_bytes();
        go_on_to(Step::journal);
        return false;
    case Step::journal_done:
        go_on_to(begin_interim_footer() ? Step::footer : Step::idle);
        return true;
    case Step::footer_done:
        go_on_to(Step::idle);
        return false;
    case Step::payload:
    case Step::journal:
    case Step::footer: // under way
    case Step::idle:
        return false;
    }
    return false;
}

// It begins if it stays within its share of the file, because a full list of pages every second would outgrow the
// pages; or if the last one is older than any cluster should be, which happens seldom however long the run is.
bool Flush::begin_interim_footer() {
    auto* const footers = interim_footers();
    auto const bytes = footers != nullptr ? base::round_up(footers->pending_bytes(), base::kBlockBytes) : 0;
    auto const payload_bytes = run_.ledger->head().claimed.load() - footer_bytes_;
    auto const allowed_bytes = interim_footer_share_ * static_cast<double>(payload_bytes);
    bool const is_old = last_footer_ns_ < run_.ledger->head().old_before_ns;
    bool const is_small = static_cast<double>(footer_bytes_ + bytes) <= allowed_bytes;
    if (bytes == 0 || !(is_small || is_old)) return false;
    auto const offset = run_.ledger->try_claim(bytes);
    if (!offset) return false;
    journal_.append(RecordType::footer, FooterRecord{*offset, bytes});
    footer_offset_ = *offset;
    footer_bytes_ += bytes;
    last_footer_ns_ = base::monotonic_ns();
    return true;
}

// Only readers of the open file need it: if it cannot be written, the run goes on without.
void Flush::write_interim_footer() {
    trace::Traced traced(trace::Activity::write_interim_footer, run_.path().c_str(), interim_footers_->pending_bytes());
    try {
        interim_footers_->write(*run_.file, footer_offset_);
    } catch (base::SystemError const&) {
        interim_footers_failed_ = true;
        return;
    }
    run_.file->sync();
    interim_footers_->publish(*run_.file); // durable with the next sync: until then the last one stands
    traced.set_result(footer_offset_);
}

void Flush::sync_journal() {
    trace::Traced traced(trace::Activity::sync_journal, run_.path().c_str(), 0);
    journal_.sync();
    traced.set_result(0);
}

void Flush::sync_payload() {
    run_.file->sync();
    if (run_.keys) run_.keys->sync();
}

bool Flush::is_work(Step step) { return step == Step::payload || step == Step::journal || step == Step::footer; }

void Flush::loop() {
    base::Lock lock(mutex_);
    while (true) {
        wake_.wait(lock, [&]() THALWEG_REQUIRES(mutex_) { return stop_ || is_work(step_); });
        if (stop_) return;
        auto const work = step_;
        lock.unlock();
        std::exception_ptr error;
        try {
            if (work == Step::payload) sync_payload();
            if (work == Step::journal) sync_journal();
            if (work == Step::footer) write_interim_footer();
        } catch (...) {
            error = std::current_exception();
        }
        lock.lock();
        error_ = error;
        step_ = static_cast<Step>(static_cast<int>(work) + 1); // done
    }
}

} // namespace thalweg::dataset
