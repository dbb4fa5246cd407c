#include "thalweg/dataset/append/sealer.h"

#include <algorithm>
#include <system_error>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/run/backoff.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kPauseNs = 100'000;

} // namespace

Sealer::Sealer(OpenRun& run, Staging const& staging, StagingMemory& memory, std::size_t table, std::uint32_t producer)
    : run_(run), staging_(staging), memory_(memory), table_(table), producer_(producer),
      while_waiting_(run.while_waiting), announcer_(staging, memory, producer) {
    auto const lanes = std::max(1u, run.options.seal_threads);
    for (unsigned i = 0; i < lanes; ++i) {
        lanes_.push_back(std::make_unique<Lane>(run, staging, memory, announcer_, table, producer,
                                                run.options.seal_threads == 0 ? while_waiting_ : nothing_));
    }
    if (run.options.seal_threads == 0) return;
    try {
        for (auto& lane : lanes_) threads_.emplace_back([this, &lane] { work(*lane); });
    } catch (std::system_error const& error) {
        if (!threads_.empty()) return; // fewer will do
        base::fail_system({"cannot start a thread that compresses"}, error.code().value());
    }
}

Sealer::~Sealer() {
    {
        base::Lock const lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
}

void Sealer::seal(SealedPage const& page) {
    announcer_.expect(page.cluster);
    if (threads_.empty()) {
        lanes_[0]->add(page);
        return;
    }
    {
        base::Lock const lock(mutex_);
        rethrow();
        jobs_.push_back(page);
    }
    wake_.notify_one();
}

Lane& Sealer::stored_lane() {
    if (threads_.empty()) return *lanes_[0];
    if (!stored_lane_)
        stored_lane_ = std::make_unique<Lane>(run_, staging_, memory_, announcer_, table_, producer_, while_waiting_);
    return *stored_lane_;
}

void Sealer::add_stored(SealedPage const& page, std::span<std::byte const> stored) {
    announcer_.expect(page.cluster);
    stored_lane().add_stored(page, stored);
}

void Sealer::add_run(std::span<SealedPage const> run, PageSource const& from) {
    for (auto const& page : run) announcer_.expect(page.cluster);
    stored_lane().add_run(run, from);
}

void Sealer::add_unbuffered(SealedPage const& page, std::span<std::byte const> raw) {
    announcer_.expect(page.cluster);
    stored_lane().add_unbuffered(page, raw);
}

// Ends of clusters, which the lane's own `drain` waits for, may be due to threads that have failed.
void Sealer::drain_stored() {
    auto& lane = stored_lane();
    while (!lane.flush()) run_.ledger->check_room();
    Backoff backoff;
    while (true) {
        lane.reap(true);
        if (lane.idle()) return;
        if (!lane.has_work()) backoff.pause(); // the ring is full
        if (while_waiting_) while_waiting_();
    }
}

void Sealer::end_cluster(std::uint64_t cluster, std::uint64_t rows, bool by_age) {
    announcer_.end_cluster(cluster, rows, by_age);
    if (threads_.empty()) {
        static_cast<void>(lanes_[0]->flush()); // what has no room is flushed later
        return;
    }
    {
        base::Lock const lock(mutex_);
        rethrow();
        flush_wanted_ = true;
    }
    wake_.notify_all();
}

void Sealer::make_progress() {
    if (while_waiting_) while_waiting_();
    run_.ledger->check_room();
    if (threads_.empty()) {
        bool const has_work = lanes_[0]->has_work();
        static_cast<void>(lanes_[0]->flush());
        lanes_[0]->reap(true);
        if (!has_work) base::sleep_ns(kPauseNs); // for the committer, which has to empty the ring
        return;
    }
    {
        base::Lock const lock(mutex_);
        rethrow();
        flush_wanted_ = true;
    }
    wake_.notify_all();
    base::sleep_ns(kPauseNs);
}

bool Sealer::drain() { return threads_.empty() ? lanes_[0]->drain() : drain_threads(); }

bool Sealer::drain_threads() {
    Backoff backoff;
    while (true) {
        {
            base::Lock const lock(mutex_);
            rethrow();
            flush_wanted_ = true;
            if (jobs_.empty() && busy_ == 0 && !announcer_.has_ends()) return true;
            if (jobs_.empty() && without_room_ > 0 && without_room_ == busy_ && !run_.ledger->has_room()) return false;
        }
        wake_.notify_all();
        std::deque<PageRecord> none;
        announcer_.announce(none);                             // ends of clusters that found no room on the ring
        if (announcer_.has_ends()) run_.ledger->check_alive(); // the committer has to empty it
        backoff.pause();
    }
}

void Sealer::work(Lane& lane) {
    base::Lock lock(mutex_);
    while (!stop_) {
        try {
            step(lane, lock);
        } catch (...) {
            if (!lock.owns_lock()) lock.lock();
            if (!error_) error_ = std::current_exception();
            return;
        }
    }
}

// One page sealed, or what was gathered written when it was asked for, or a short wait.
void Sealer::step(Lane& lane, base::Lock& lock) {
    bool const can_flush = flush_wanted_ && lane.has_work() && !lane.waits_for_room();
    if (jobs_.empty() && !can_flush) wake_.wait_for(lock, lane.idle() ? 50'000'000 : 1'000'000);
    auto const was_idle = lane.idle();
    auto const waited_for_room = lane.waits_for_room();
    if (!jobs_.empty()) {
        auto const page = jobs_.front();
        jobs_.pop_front();
        if (was_idle) ++busy_;
        lock.unlock();
        lane.add(page);
    } else if (!was_idle) {
        auto const flush = flush_wanted_;
        lock.unlock();
        static_cast<void>(flush ? lane.flush() : lane.encode_waiting());
        lane.reap(flush);
    } else {
        flush_wanted_ = flush_wanted_ && busy_ > 0;
        return;
    }
    lock.lock();
    without_room_ += static_cast<std::size_t>(lane.waits_for_room()) - static_cast<std::size_t>(waited_for_room);
    THALWEG_ASSERT(without_room_ <= busy_, "a lane that waits for room holds pages");
    if (lane.idle()) {
        THALWEG_ASSERT(busy_ > 0, "a lane that had pages was counted");
        --busy_;
    }
}

void Sealer::rethrow() {
    if (error_) std::rethrow_exception(error_);
}

} // namespace thalweg::dataset
