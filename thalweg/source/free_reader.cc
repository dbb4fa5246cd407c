#include "thalweg/base/assert.h"
#include "thalweg/base/shared_number.h"
#include "thalweg/source/hit_row.h"
#include "thalweg/source/readers.h"
#include "thalweg/source/wait.h"

namespace thalweg::source {
namespace {

constexpr std::size_t kListRows = 1024; // in a batch of rows without samples

class FreeReader : public StreamReader {
  public:
    FreeReader(DigitizerOptions const& options, std::uint32_t channel, std::shared_ptr<PulsePool const> pool)
        : triggers_(options, channel), view_(options, std::move(pool)), limit_(options.record_limit),
          has_samples_(options.waveforms) {}

    bool next(Batch& batch, std::uint64_t deadline_ns) override {
        if (ended()) return false;
        if (paused_) {
            sleep_until(deadline_ns);
            return false;
        }
        if (has_samples_) {
            view_.show(take(), batch);
        } else {
            for (list_.clear(); list_.rows() < kListRows && !ended();) list_.add(take().hit);
            list_.show(batch);
        }
        return true;
    }

    bool ended() const override { return triggers_.ended() || (limit_ != 0 && rows_.get() >= limit_); }

    Counters counters() const override {
        auto const rows = rows_.get();
        return {.triggers = rows, .piled_up = piled_up_.get(), .rows = rows, .live_time_ns = live_time_ns_.get()};
    }

    // The card's clock is independent of wall time, so it stands still.
    void pause() override { paused_ = true; }
    void resume() override { paused_ = false; }

  private:
    Trigger take() {
        auto trigger = triggers_.take();
        THALWEG_ASSERT(trigger.hit.time_ps / 1000 >= live_time_ns_.get(), "the hits of a channel ascend in time");
        rows_.add(1);
        live_time_ns_.set(trigger.hit.time_ps / 1000);
        piled_up_.set(triggers_.piled_up());
        return trigger;
    }

    Triggers triggers_;
    HitRow view_;
    HitList list_;
    std::uint64_t limit_;
    bool has_samples_;
    bool paused_ = false;
    base::SharedNumber rows_, piled_up_, live_time_ns_;
};

} // namespace

std::unique_ptr<StreamReader> make_free_reader(DigitizerOptions const& options, std::uint32_t channel,
                                               std::shared_ptr<PulsePool const> pool) {
    return std::make_unique<FreeReader>(options, channel, std::move(pool));
}

} // namespace thalweg::source
