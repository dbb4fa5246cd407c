// Endpoints of DPP firmwares: an event is of one channel, and has an energy.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include "thalweg/source/caen/readers.h"

namespace thalweg::source::caen {
namespace {

// The longest waveform of the second generation has 4095 words of 4 samples.
constexpr std::size_t kMostSamples = std::size_t{4} * 4095;

class DppReader final : public Reader {
  public:
    DppReader(Connection& connection, Options const& options, Board& board) : Reader(connection, options, board) {
        auto const is_new = board.is_second_generation;
        board.columns = {.energy = true,
                         .energy_short = options.endpoint.find("psd") != std::string::npos,
                         .flags = is_new,
                         .sample_type = !options.waveforms ? nullptr
                                        : is_new           ? "int32"
                                                           : "int16",
                         .has_lists = true};
        sample_bytes_ = is_new ? sizeof(std::int32_t) : sizeof(std::int16_t);
        most_ = kMostSamples;
        for (auto const& table : board.tables) most_ = std::max(most_, table.samples);
        memory_.resize(2 * most_ * sample_bytes_); // the library does not know how much there is
        std::string format;
        std::size_t place = 0;
        auto const add = [&](bool is_there, char const* json, void* to) {
            if (!is_there) return;
            format += (format.empty() ? "[" : ",") + std::string(json);
            to_[place++] = to;
        };
        add(true, R"({"name":"CHANNEL","type":"U8"})", &channel_);
        add(true, R"({"name":"TIMESTAMP","type":"U64"})", &tag_);
        add(true, R"({"name":"ENERGY","type":"U16"})", &energy_);
        add(board.columns.energy_short, R"({"name":"ENERGY_SHORT","type":"U16"})", &energy_short_);
        add(is_new && options.fine_unit_ps > 0, R"({"name":"FINE_TIMESTAMP","type":"U16"})", &fine_);
        add(is_new, R"({"name":"FLAGS_LOW_PRIORITY","type":"U16"})", &low_flags_);
        add(is_new, R"({"name":"FLAGS_HIGH_PRIORITY","type":"U16"})", &high_flags_);
        auto const* const probe = is_new ? R"({"name":"ANALOG_PROBE_1","type":"I32","dim":1})"
                                         : R"({"name":"ANALOG_PROBE_1","type":"I16","dim":1})";
        add(options.waveforms, probe, memory_.data());
        add(options.waveforms, R"({"name":"WAVEFORM_SIZE","type":"U64"})", &samples_);
        connection.choose_endpoint(options.endpoint, format + "]");
    }

  private:
    Code take(int timeout_ms) override {
        auto const code =
            connection().read(timeout_ms, to_[0], to_[1], to_[2], to_[3], to_[4], to_[5], to_[6], to_[7], to_[8]);
        if (code != Code::success) return code;
        auto* const table = table_of(channel_);
        if (samples_ > 2 * most_) throw DriverError("the library has written more samples than a waveform can have");
        if (table == nullptr) {
            board().counters.bad_events.add(1);
            return code;
        }
        auto& rows = table->rows;
        rows.times_ps.push_back(time_of(tag_, channel_) +
                                static_cast<std::uint64_t>(std::llround(fine_ * options().fine_unit_ps)));
        rows.energies.push_back(energy_);
        if (board().columns.energy_short) rows.energies_short.push_back(energy_short_);
        if (board().columns.flags) rows.flags.push_back(static_cast<std::uint32_t>(high_flags_) << 16 | low_flags_);
        if (!options().waveforms) return code;
        rows.t0_ns.push_back(table->t0_ns);
        rows.dt_ns.push_back(static_cast<float>(board().sample_period_ns));
        rows.lengths.push_back(samples_);
        if (samples_ > 0) std::memcpy(rows.grow(samples_ * sample_bytes_), memory_.data(), samples_ * sample_bytes_);
        return code;
    }

    std::size_t sample_bytes_ = 0, most_ = 0;
    std::vector<std::byte> memory_;
    std::uint8_t channel_ = 0;
    std::uint64_t tag_ = 0, samples_ = 0;
    std::uint16_t energy_ = 0, energy_short_ = 0, fine_ = 0, low_flags_ = 0, high_flags_ = 0;
    std::array<void*, 9> to_{};
};

} // namespace

std::unique_ptr<Reader> make_dpp_reader(Connection& connection, Options const& options, Board& board) {
    return std::make_unique<DppReader>(connection, options, board);
}

} // namespace thalweg::source::caen
