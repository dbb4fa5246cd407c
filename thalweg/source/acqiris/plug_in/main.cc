#include <array>
#include <optional>
#include <span>
#include <string>

#include "thalweg/source.h"
#include "thalweg/source/acqiris/card.h"
#include "thalweg/source/acqiris/plug_in/settings.h"
#include "thalweg/source/plug_in/adapter.h"

namespace thalweg::source::acqiris {
namespace {

// The card, with rows by reference.
class Source {
  public:
    Source(thalweg_host const& host, std::span<thalweg_value const* const> values)
        : host_(host), card_(options_of(values)) {}

    std::string describe() const { return card_.describe(); }

    std::optional<std::int64_t> start() {
        card_.start();
        return std::nullopt;
    }

    int next(std::uint32_t /*lane*/, std::uint64_t timeout_ns, thalweg_batch& batch) {
        switch (card_.next(timeout_ns)) {
        case Card::Got::records:
            hand_out(card_.records(), batch);
            return THALWEG_ROWS;
        case Card::Got::temperature:
            hand_out(card_.temperature(), batch);
            return THALWEG_ROWS;
        case Card::Got::overflow:
            host_.fail(host_.context, "the memory of the card was full");
            return THALWEG_OVERFLOW;
        case Card::Got::nothing:
            break;
        }
        return THALWEG_NOTHING;
    }

    void stop() { card_.stop(); }
    void pause() { card_.stop(); }

    void count(plug_in::Counts& counts) const {
        for (std::uint32_t channel = 0; channel < card_.channels(); ++channel) {
            auto const counted = card_.counted(channel);
            counts.add(channel, "bad_markers", counted.bad_markers);
            counts.add(channel, "missing_records", counted.missing_records);
            counts.add(channel, "undrained_records", counted.undrained);
            counts.add(channel, "adc_overranges", counted.overranges);
        }
    }

  private:
    void hand_out(Records const& records, thalweg_batch& batch) {
        batch.table = card_.channel();
        batch.rows = records.count();
        put(0, records.times_ps.data(), records.times_ps.size() * sizeof(std::uint64_t));
        put(1, records.t0_ps.data(), records.t0_ps.size() * sizeof(float));
        put(2, records.samples.data(), records.samples.size());
        show(batch);
    }

    void hand_out(Card::Temperature const& temperature, thalweg_batch& batch) {
        batch.table = card_.channels();
        batch.rows = 1;
        put(0, &temperature.utc_ns, sizeof temperature.utc_ns);
        put(1, &temperature.monotonic_ns, sizeof temperature.monotonic_ns);
        put(2, &temperature.value, sizeof temperature.value);
        show(batch);
    }

    void put(std::size_t column, void const* data, std::size_t size_bytes) {
        data_[column] = data;
        sizes_[column] = size_bytes;
    }

    void show(thalweg_batch& batch) const {
        batch.columns = static_cast<std::uint32_t>(data_.size());
        batch.data = data_.data();
        batch.size_bytes = sizes_.data();
    }

    thalweg_host const& host_;
    Card card_;
    std::array<void const*, 3> data_{};
    std::array<std::uint64_t, 3> sizes_{};
};

} // namespace
} // namespace thalweg::source::acqiris

thalweg_source const* thalweg_get_source(std::uint32_t version) {
    using namespace thalweg::source;
    static auto const source = plug_in::adapted<acqiris::Source>("acqiris", "1", acqiris::settings());
    return version == THALWEG_SOURCE_VERSION ? &source : nullptr;
}
