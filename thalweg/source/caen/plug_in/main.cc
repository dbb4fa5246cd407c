#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/source.h"
#include "thalweg/source/caen/digitizer.h"
#include "thalweg/source/caen/plug_in/settings.h"
#include "thalweg/source/plug_in/adapter.h"

namespace thalweg::source::caen {
namespace {

// The board, with rows by reference.
class Source {
  public:
    Source(thalweg_host const& /*host*/, std::span<thalweg_value const* const> values) : board_(options_of(values)) {}

    std::string describe() const { return board_.describe(); }

    std::optional<std::int64_t> start() {
        board_.start();
        return std::nullopt;
    }

    int next(std::uint32_t /*lane*/, std::uint64_t timeout_ns, thalweg_batch& batch) {
        switch (board_.next(timeout_ns)) {
        case Digitizer::Got::rows:
            hand_out(batch);
            return THALWEG_ROWS;
        case Digitizer::Got::ended:
            return THALWEG_ENDED;
        case Digitizer::Got::nothing:
            break;
        }
        return THALWEG_NOTHING;
    }

    void stop() { board_.stop(); }
    void pause() { board_.stop(); }

    void count(plug_in::Counts& counts) const {
        auto const& counted = board_.counters();
        // They are of the board: a trigger that is lost is lost for all of its channels.
        for (std::uint32_t table = 0; table < board_.tables(); ++table) {
            counts.add(table, "lost_triggers", counted.lost_triggers.get());
            counts.add(table, "bad_events", counted.bad_events.get());
            counts.add(table, "damaged_bytes", counted.damaged_bytes.get());
            counts.add(table, "board_dead_time_ns", counted.dead_ns.get());
            counts.add(table, "board_real_time_ns", counted.real_ns.get());
        }
    }

  private:
    void hand_out(thalweg_batch& batch) {
        auto const& rows = board_.rows();
        auto const& columns = board_.columns();
        data_.clear();
        sizes_.clear();
        put(rows.times_ps);
        if (columns.energy) put(rows.energies);
        if (columns.energy_short) put(rows.energies_short);
        if (columns.flags) put(rows.flags);
        if (columns.sample_type != nullptr) {
            put(rows.t0_ns);
            put(rows.dt_ns);
            if (columns.has_lists) put(rows.lengths);
            put(rows.samples);
        }
        batch.table = static_cast<std::uint32_t>(board_.table());
        batch.rows = rows.count();
        batch.columns = static_cast<std::uint32_t>(data_.size());
        batch.data = data_.data();
        batch.size_bytes = sizes_.data();
    }

    template <class Value> void put(std::vector<Value> const& values) {
        data_.push_back(values.data());
        sizes_.push_back(values.size() * sizeof(Value));
    }

    Digitizer board_;
    std::vector<void const*> data_;
    std::vector<std::uint64_t> sizes_;
};

} // namespace
} // namespace thalweg::source::caen

thalweg_source const* thalweg_get_source(std::uint32_t version) {
    using namespace thalweg::source;
    static auto const source = plug_in::adapted<caen::Source>("caen", "1", caen::settings());
    return version == THALWEG_SOURCE_VERSION ? &source : nullptr;
}
