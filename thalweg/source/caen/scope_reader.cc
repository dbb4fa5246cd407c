// Endpoint `scope`: the library decodes events, and each one has the samples of all channels.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "thalweg/source/caen/readers.h"

namespace thalweg::source::caen {
namespace {

// Memory for each channel behind the samples of a record: the library does not know how much there is.
constexpr std::size_t kSpareSamples = 4096;

class ScopeReader final : public Reader {
  public:
    ScopeReader(Connection& connection, Options const& options, Board& board) : Reader(connection, options, board) {
        board.columns.flags = board.is_second_generation;
        board.columns.sample_type = "uint16";
        std::size_t most = 0;
        for (auto const& table : board.tables) most = std::max(most, table.samples);
        each_ = most + kSpareSamples;
        memory_.resize(board.channels * each_);
        sizes_.resize(board.channels);
        for (std::size_t channel = 0; channel < board.channels; ++channel)
            waves_.push_back(memory_.data() + channel * each_);
        std::string format = R"([{"name":"TIMESTAMP","type":"U64"},{"name":"WAVEFORM","type":"U16","dim":2},)"
                             R"({"name":"WAVEFORM_SIZE","type":"U64","dim":1})";
        std::size_t place = 3;
        to_ = {&tag_, waves_.data(), sizes_.data()};
        auto const add = [&](bool is_there, char const* json, void* to) {
            if (!is_there) return;
            format += json;
            to_[place++] = to;
        };
        add(board.has_trigger_ids, R"(,{"name":"TRIGGER_ID","type":"U32"})", &id_);
        add(board.columns.flags, R"(,{"name":"FLAGS","type":"U32"})", &flags_);
        connection.choose_endpoint(options.endpoint, format + "]");
    }

  private:
    Code take(int timeout_ms) override {
        auto const code = connection().read(timeout_ms, to_[0], to_[1], to_[2], to_[3], to_[4]);
        if (code != Code::success) return code;
        if (board().has_trigger_ids) count_trigger(id_);
        auto const time_ps = time_of(tag_);
        bool is_bad = false;
        for (auto& table : board().tables) {
            auto const samples = sizes_[table.channel];
            if (samples > each_) throw DriverError("the library has written more samples than a record has");
            if (samples != table.samples) {
                is_bad = is_bad || samples != 0; // a channel may have no part in an event
                continue;
            }
            auto& rows = table.rows;
            rows.times_ps.push_back(time_ps);
            if (board().columns.flags) rows.flags.push_back(flags_);
            rows.t0_ns.push_back(table.t0_ns);
            rows.dt_ns.push_back(static_cast<float>(board().sample_period_ns));
            std::memcpy(rows.grow(samples * sizeof(std::uint16_t)), waves_[table.channel],
                        samples * sizeof(std::uint16_t));
        }
        if (is_bad) board().counters.bad_events.add(1);
        return code;
    }

    std::size_t each_ = 0;
    std::vector<std::uint16_t> memory_;
    std::vector<std::uint16_t*> waves_;
    std::vector<std::uint64_t> sizes_;
    std::uint64_t tag_ = 0;
    std::uint32_t id_ = 0, flags_ = 0;
    std::array<void*, 5> to_{};
};

} // namespace

std::unique_ptr<Reader> make_scope_reader(Connection& connection, Options const& options, Board& board) {
    return std::make_unique<ScopeReader>(connection, options, board);
}

} // namespace thalweg::source::caen
