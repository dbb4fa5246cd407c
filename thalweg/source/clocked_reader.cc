#include <algorithm>
#include <deque>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/shared_number.h"
#include "thalweg/source/digitizer_options.h"
#include "thalweg/source/hit_row.h"
#include "thalweg/source/readers.h"
#include "thalweg/source/wait.h"

namespace thalweg::source {
namespace {

// One wake-up serves several records: at 100,000 per second, waking up for each would cost more than reading it.
constexpr std::uint64_t kPollNs = 500'000;

// A simulated card without a thread of its own: each call computes what the card did since the last one, trigger by
// trigger, with the memory of that time. The record that was handed out stays on board until the next call.
class ClockedReader : public StreamReader {
  public:
    ClockedReader(DigitizerOptions const& options, std::uint32_t channel, std::shared_ptr<PulsePool const> pool)
        : triggers_(options, channel), view_(options, std::move(pool)), record_limit_(options.record_limit),
          end_ps_(options.duration_ns * 1000), row_bytes_(row_bytes(options)),
          capacity_(options.onboard_bytes / row_bytes_), start_ns_(options.start_ns), has_samples_(options.waveforms) {}

    bool next(Batch& batch, std::uint64_t deadline_ns) override {
        for (;;) {
            auto const now_ns = base::monotonic_ns();
            catch_up(now_ns);
            release();
            if (!onboard_.empty()) return show(batch);
            if (ended() || now_ns >= deadline_ns) return false;
            auto const wake_ns = std::max(now_ns + kPollNs, wall_ns(triggers_.peek().time_ps));
            sleep_until(paused_ ? deadline_ns : std::min(deadline_ns, wake_ns));
        }
    }

    bool ended() const override { return onboard_.empty() && finished(); }

    Counters counters() const override {
        auto const rows = rows_.get(), lost = lost_.get(), onboard = onboard_records_.get();
        return {.triggers = taken_.get() + lost,
                .lost = lost,
                .piled_up = piled_up_.get(),
                .rows = rows,
                .onboard_bytes = onboard * row_bytes_,
                .onboard_limit_bytes = capacity_ * row_bytes_,
                .dead_time_ns = dead_ps_.get() / 1000,
                .live_time_ns = live_ps_.get() / 1000};
    }

    void pause() override {
        catch_up(base::monotonic_ns());
        paused_ = true;
    }

    void resume() override {
        catch_up(base::monotonic_ns());
        paused_ = false;
    }

  private:
    bool limit_reached() const { return record_limit_ != 0 && taken_.get() >= record_limit_; }
    bool finished() const { return triggers_.ended() || limit_reached(); }
    bool full() const { return onboard_.size() >= capacity_; }

    std::uint64_t clock_ps(std::uint64_t now_ns) {
        if (start_ns_ == 0) start_ns_ = now_ns;
        return now_ns > start_ns_ ? (now_ns - start_ns_) * 1000 : 0;
    }
    std::uint64_t wall_ns(std::uint64_t time_ps) const { return start_ns_ + time_ps / 1000 + 1; }

    void catch_up(std::uint64_t now_ns) {
        auto const now_ps = clock_ps(now_ns);
        if (paused_) triggers_.skip_until(now_ps);
        while (!finished() && triggers_.peek().time_ps <= now_ps) take_trigger();
        account_until(triggers_.ended() ? end_ps_ : now_ps); // the rest has the current state: nothing more comes
        piled_up_.set(triggers_.piled_up());
    }

    void take_trigger() {
        auto trigger = triggers_.take();
        if (full()) return lost_.add(1);
        account_until(trigger.hit.time_ps);
        onboard_.push_back(std::move(trigger));
        THALWEG_ASSERT(onboard_.size() <= capacity_, "the on-board memory has a limit");
        taken_.add(1);
        onboard_records_.set(onboard_.size());
    }

    // Counts the time since the last call as dead, live, or paused, according to the current state of the card.
    void account_until(std::uint64_t now_ps) {
        if (end_ps_ != 0) now_ps = std::min(now_ps, end_ps_);
        if (now_ps <= accounted_ps_) return;
        if (!paused_ && !limit_reached()) (full() ? dead_ps_ : live_ps_).add(now_ps - accounted_ps_);
        accounted_ps_ = now_ps;
    }

    bool show(Batch& batch) {
        if (has_samples_) {
            view_.show(onboard_.front(), batch);
        } else {
            list_.clear();
            list_.add(onboard_.front().hit);
            list_.show(batch);
        }
        shown_ = true;
        rows_.add(1);
        return true;
    }

    void release() {
        if (!shown_) return;
        THALWEG_ASSERT(!onboard_.empty(), "the record that was handed out is on board");
        onboard_.pop_front();
        onboard_records_.set(onboard_.size());
        shown_ = false;
    }

    Triggers triggers_;
    HitRow view_;
    HitList list_;
    std::uint64_t record_limit_;
    std::uint64_t end_ps_;
    std::uint64_t row_bytes_;
    std::uint64_t capacity_; // records
    std::uint64_t start_ns_;
    bool has_samples_;
    std::deque<Trigger> onboard_;
    bool shown_ = false; // the first record on board was handed out
    bool paused_ = false;
    std::uint64_t accounted_ps_ = 0;
    base::SharedNumber taken_, lost_, piled_up_, rows_, onboard_records_, dead_ps_, live_ps_;
};

} // namespace

std::unique_ptr<StreamReader> make_clocked_reader(DigitizerOptions const& options, std::uint32_t channel,
                                                  std::shared_ptr<PulsePool const> pool) {
    return std::make_unique<ClockedReader>(options, channel, std::move(pool));
}

} // namespace thalweg::source
