// Takes rows from one lane of a source in a shared library and appends them, without Python in between.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/dataset/append/producer.h"
#include "thalweg/record/pulse_producer.h"
#include "thalweg/source/plug_in/device.h"

namespace thalweg::record {

// The recorder sees what the lane does by numbers in shared memory (python/thalweg/_devices/board.py).
struct BoardPlaces {
    std::span<std::int64_t> words;
    std::size_t lane = 0;       // three words: how many calls began or ended, which call it is in, its limit in ms
    std::size_t tables = 0;     // two words for each table of the device: whether it has rows, and its last timestamp
    std::size_t offset = 0;     // one word: what is added to the clock of the device
    std::int64_t next_call = 0; // the number of the call `next`
};

struct PumpedTable {
    std::uint32_t table = 0; // of the device
    dataset::Producer* producer = nullptr;
    std::string clock;               // the column that holds the clock of the device; empty: none does
    PulseProducer* pulses = nullptr; // what appends to the producer, if rows get features
};

class LanePump {
  public:
    // What ended a turn.
    enum class End : std::uint8_t {
        time,  // it has lasted long enough, or was interrupted
        fresh, // the first rows of a table since the last start are held: see held()
        ended,
        overflow,
        lost,
        refused,
    };
    struct Turn {
        End end = End::time;
        bool took_rows = false;
        std::uint64_t backward = 0;        // batches that begin before the end of the one before
        std::optional<std::uint64_t> lost; // triggers, of an overflow
        std::string text;
    };
    // Rows that wait until the caller has aligned the clock of the device. The timestamps are those of the device.
    struct Held {
        std::uint32_t table = 0;
        bool has_clock = false;
        std::int64_t first = 0, last = 0; // the least and the greatest one
    };

    // All of them must live longer.
    LanePump(source::plug_in::Device& device, std::uint32_t lane, BoardPlaces board, std::vector<PumpedTable> tables);

    // Calls next(timeout_ns), and again if there were rows, for about `duration_ns`. Throws base::UsageError if rows do
    // not fit their table, and what producers throw.
    Turn run(std::uint64_t timeout_ns, std::uint64_t limit_ns, std::uint64_t duration_ns);
    Held const& held() const { return held_; }
    // Appends the rows that are held. The table counts as begun.
    void append_held();
    // The device was started: the first rows of each table will be held.
    void restarted();

    // From any thread: run() returns after the call of next() in which it is.
    void interrupt() { interrupted_ = true; }
    // From any thread: a full disk is an error from now on.
    void wait_for_no_room() { waits_for_room_ = false; }

  private:
    struct Lane {
        PumpedTable to;
        std::optional<std::size_t> clock_column;
        bool is_unsigned = false; // the clock
        bool is_fresh = true;
        std::vector<std::uint64_t> stamps; // with the offset
    };

    int call_next(std::uint64_t timeout_ns, std::int64_t limit_ms);
    bool take(Turn& turn); // Returns false if the rows are held.
    Lane& lane_of_batch();
    void read_batch(Lane const& lane);
    void align(Lane& lane, Turn& turn);
    void add_offset(Lane& lane, std::int64_t offset);
    std::int64_t& word(std::size_t place) const { return board_.words[place]; }
    void append(Lane& lane);

    source::plug_in::Device& device_;
    std::uint32_t number_;
    BoardPlaces board_;
    std::vector<Lane> lanes_; // one for each table
    thalweg_batch batch_{};
    std::vector<std::span<std::byte const>> columns_;
    Held held_;
    std::atomic<bool> interrupted_ = false;
    std::atomic<bool> waits_for_room_ = true;
};

} // namespace thalweg::record
