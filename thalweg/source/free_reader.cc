#include "thalweg/base/assert.h"
#include "thalweg/base/shared_number.h"
#include "thalweg/source/hit_row.h"
#include "thalweg/source/readers.h"
#include "thalweg/source/wait.h"

namespace thalweg::source {
namespace {

class FreeReader : public StreamReader {
  public:
    FreeReader(DigitizerOptions const& options, std::uint32_t channel, std::shared_ptr<PulsePool const> pool)
        : triggers_(options, channel), view_(options, std::move(pool)), limit_(options.record_limit) {}

    bool next(Batch& batch, std::uint64_t deadline_ns) override {
        if (ended()) return false;
        if (paused_) {
            sleep_until(deadline_ns);
            return false;
        }
        auto const hit = triggers_.take();
        THALWEG_ASSERT(hit.time_ps / 1000 >= live_time_ns_.get(), "the hits of a channel ascend in time");
        view_.show(hit, batch);
        rows_.add(1);
        live_time_ns_.set(hit.time_ps / 1000);
        piled_up_.set(triggers_.piled_up());
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
    Triggers triggers_;
    HitRow view_;
    std::uint64_t limit_;
    bool paused_ = false;
    base::SharedNumber rows_, piled_up_, live_time_ns_;
};

} // namespace

std::unique_ptr<StreamReader> make_free_reader(DigitizerOptions const& options, std::uint32_t channel,
                                               std::shared_ptr<PulsePool const> pool) {
    return std::make_unique<FreeReader>(options, channel, std::move(pool));
}

} // namespace thalweg::source
