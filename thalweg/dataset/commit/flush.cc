#include "thalweg/dataset/commit/flush.h"

#include <fmt/format.h>
#include <system_error>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/say.h"
#include "thalweg/base/units.h"
#include "thalweg/trace/activity.h"

namespace thalweg::dataset {
namespace {

// What a run counts as at least if its interim metadata are old, so that they may take 16 MiB and 4 KiB a second by
// default (docs/decisions/0110).
constexpr double kLeastPayloadBytes = 1600.0 * base::kMiB, kLeastBytesPerSecond = 400.0 * base::kKiB;

} // namespace

Flush::Flush(OpenRun& run, JournalWriter& journal, std::unique_ptr<format::InterimMetadata> interim,
             double interim_share)
    : run_(run), journal_(journal), interim_share_(interim_share), interim_(std::move(interim)),
      begin_ns_(base::monotonic_ns()), last_interim_ns_(begin_ns_) {
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

void Flush::begin(std::uint64_t rows_appended) {
    THALWEG_ASSERT(is_idle(), "one flush is under way at a time");
    auto const moment = journal_.moment();
    THALWEG_ASSERT(moment.main_end >= covers_.main_end, "what a BARRIER covers never falls");
    covers_ = moment;
    rows_appended_ = rows_appended;
    // Nothing has come since the last one: on a full disk the journal must not grow by itself.
    bool const is_covered = !run_.ledger->has_room() && covers_.main_end == barrier_end_;
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
        append_own(RecordType::barrier, BarrierRecord{covers_.main_end});
        barrier_end_ = journal_.size_bytes();
        go_on_to(Step::journal);
        return false;
    case Step::journal_done:
        go_on_to(is_time_for_interim() ? Step::interim : Step::idle);
        return true;
    case Step::interim_done:
        if (claim_interim()) {
            go_on_to(Step::publish);
            return false;
        }
        [[fallthrough]];
    case Step::publish_done:
        end_interim();
        go_on_to(Step::idle);
        return false;
    case Step::payload:
    case Step::journal:
    case Step::interim:
    case Step::publish: // under way
    case Step::idle:
        return false;
    }
    return false;
}

template <class Record> void Flush::append_own(RecordType type, Record const& record) {
    auto const before = journal_.size_bytes();
    journal_.append(type, record);
    own_bytes_ += journal_.size_bytes() - before;
}

// They stay within their share of the file, because a full list of pages every second would outgrow the pages. If the
// last ones are older than any cluster should be, which happens seldom however long the run is, a run that is small or
// slow counts as a larger one.
bool Flush::is_allowed(std::uint64_t interim_bytes) const {
    auto const payload_bytes = static_cast<double>(run_.ledger->head().claimed.load() - interim_bytes_);
    auto const age_s = static_cast<double>(base::monotonic_ns() - begin_ns_) / base::kSecondNs;
    auto const least_bytes = last_interim_ns_ < old_before_ns_ ? kLeastPayloadBytes + age_s * kLeastBytesPerSecond : 0;
    return static_cast<double>(interim_bytes_ + interim_bytes) <= interim_share_ * (payload_bytes + least_bytes);
}

bool Flush::is_time_for_interim() {
    if (interim() == nullptr || base::monotonic_ns() < not_before_ns_) return false;
    if (content_bytes() == shown_bytes_) return false;
    auto const bytes = interim()->expected_bytes();
    if (bytes == 0 || !is_allowed(base::round_up(bytes, base::kBlockBytes))) return false;
    prepared_bytes_ = content_bytes();
    return true;
}

bool Flush::claim_interim() {
    auto const bytes = base::round_up(interim_room_bytes_, base::kBlockBytes);
    if (bytes == 0) shown_bytes_ = prepared_bytes_; // nothing new
    if (bytes == 0 || !is_allowed(bytes)) return false;
    auto const offset = run_.ledger->try_claim(bytes);
    if (!offset) return false;
    append_own(RecordType::footer, FooterRecord{*offset, bytes});
    interim_offset_ = *offset;
    interim_bytes_ += bytes;
    last_interim_ns_ = base::monotonic_ns();
    shown_bytes_ = prepared_bytes_;
    return true;
}

// Only readers of the open file need them: if they cannot be made or written, the run goes on without.
template <class Work> void Flush::try_interim(Work const& work) {
    auto const begin_ns = base::thread_cpu_ns();
    try {
        work();
    } catch (std::exception const& error) {
        interim_failed_ = true;
        base::say(fmt::format("other programs see no new rows of {} until it is closed ({}): the run goes on",
                              run_.path(), error.what()));
    }
    interim_cpu_ns_ += base::thread_cpu_ns() - begin_ns;
}

void Flush::prepare_interim() {
    interim_room_bytes_ = 0;
    format::InterimMetadata::Known const known{covers_.main_end, covers_.last_segment, covers_.last_segment_end,
                                               rows_appended_};
    try_interim([&] { interim_room_bytes_ = interim_->prepare(known); });
}

void Flush::publish_interim() {
    trace::Traced traced(trace::Activity::write_interim_footer, run_.path().c_str(), interim_room_bytes_);
    bool is_written = false;
    try_interim([&] { is_written = interim_->write(*run_.file, interim_offset_); });
    if (!is_written) return;
    run_.file->sync();
    try_interim([&] { interim_->publish(*run_.file); }); // durable with the next sync: until then the last ones stand
    traced.set_result(interim_offset_);
}

// So they take no more of one CPU than of the file.
void Flush::end_interim() {
    not_before_ns_ =
        base::monotonic_ns() + static_cast<std::uint64_t>(static_cast<double>(interim_cpu_ns_) / interim_share_);
    interim_cpu_ns_ = 0;
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

bool Flush::is_work(Step step) {
    return step == Step::payload || step == Step::journal || step == Step::interim || step == Step::publish;
}

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
            if (work == Step::interim) prepare_interim();
            if (work == Step::publish) publish_interim();
        } catch (...) {
            error = std::current_exception();
        }
        lock.lock();
        error_ = error;
        step_ = static_cast<Step>(static_cast<int>(work) + 1); // done
    }
}

} // namespace thalweg::dataset
