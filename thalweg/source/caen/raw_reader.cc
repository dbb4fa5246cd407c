// Endpoint `raw` of the second generation: the library hands out blocks of events as they come, and they are decoded
// here.
#include <array>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "thalweg/base/units.h"
#include "thalweg/source/caen/raw_events.h"
#include "thalweg/source/caen/readers.h"

namespace thalweg::source::caen {
namespace {

constexpr std::size_t kMostChannels = 64;

class RawReader final : public Reader {
  public:
    RawReader(Connection& connection, Options const& options, Board& board) : Reader(connection, options, board) {
        board.columns.flags = true;
        board.columns.sample_type = "uint16";
        auto const size = connection.number("/par/MAXRAWDATASIZE");
        if (size < 8 || size > static_cast<double>(base::kGiB))
            throw DriverError(fmt::format("/par/MAXRAWDATASIZE is {}", size));
        block_.resize(static_cast<std::size_t>(size));
        connection.choose_endpoint(options.endpoint, R"([{"name":"DATA","type":"U8","dim":1},)"
                                                     R"({"name":"SIZE","type":"SIZE_T"},)"
                                                     R"({"name":"N_EVENTS","type":"U32"}])");
    }

  private:
    Code take(int timeout_ms) override {
        if (RawEvent event; events_.next(event)) {
            take_event(event);
            return Code::success;
        }
        board().counters.damaged_bytes.add(events_.left_over_bytes());
        events_ = RawEvents({});
        if (std::exchange(is_stopped_, false)) return Code::stop;
        auto const code = connection().read(timeout_ms, block_.data(), &size_, &count_);
        if (code != Code::success) return code;
        if (size_ > block_.size()) throw DriverError("the library has written more than MAXRAWDATASIZE bytes");
        events_ = RawEvents(std::span(block_).first(size_));
        return code;
    }

    void take_event(RawEvent const& event) {
        switch (event.kind) {
        case RawEvent::Kind::data:
            take_data(event);
            break;
        case RawEvent::Kind::stop:
            board().counters.real_ns.add(event.real_time * tick_ps() / 1000);
            board().counters.dead_ns.add(event.dead_time * tick_ps() / 1000);
            is_stopped_ = true;
            break;
        case RawEvent::Kind::start:
            break;
        case RawEvent::Kind::unknown:
            board().counters.bad_events.add(1);
        }
    }

    void take_data(RawEvent const& event) {
        count_trigger(event.trigger_id);
        auto const time_ps = time_of(event.time_tag);
        std::array<std::byte*, kMostChannels> places{};
        std::size_t count = 0;
        for (auto rest = event.channels; rest != 0; rest &= rest - 1) {
            auto const* const table = table_of(static_cast<std::uint64_t>(std::countr_zero(rest)));
            if (table == nullptr || table->samples != event.samples) {
                board().counters.bad_events.add(1);
                return;
            }
        }
        for (auto rest = event.channels; rest != 0; rest &= rest - 1) {
            auto& table = *table_of(static_cast<std::uint64_t>(std::countr_zero(rest)));
            table.rows.times_ps.push_back(time_ps);
            table.rows.flags.push_back(event.flags);
            table.rows.t0_ns.push_back(table.t0_ns);
            table.rows.dt_ns.push_back(static_cast<float>(board().sample_period_ns));
            places[count++] = table.rows.grow(event.samples * sizeof(std::uint16_t));
        }
        copy_samples(event, std::span(places).first(count));
    }

    std::vector<std::byte> block_;
    std::size_t size_ = 0;
    std::uint32_t count_ = 0;
    RawEvents events_{{}};
    bool is_stopped_ = false; // the event of a stop was read
};

} // namespace

std::unique_ptr<Reader> make_raw_reader(Connection& connection, Options const& options, Board& board) {
    return std::make_unique<RawReader>(connection, options, board);
}

} // namespace thalweg::source::caen
