// How events come from an endpoint.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "thalweg/source/caen/driver.h"
#include "thalweg/source/caen/numbering.h"
#include "thalweg/source/caen/options.h"
#include "thalweg/source/caen/rows.h"

namespace thalweg::source::caen {

// What the board said when it was configured, and what is made of its events.
struct Board {
    bool is_second_generation = false;
    bool has_trigger_ids = false;
    std::size_t channels = 0; // also those that are off
    double sample_period_ns = 0;
    Columns columns = {};
    std::vector<Table> tables = {};
    std::vector<Table*> table_of = {}; // by channel; null: it is off
    Counters counters = {};
};

// An endpoint that is active. Time tags become rows of the tables.
class Reader {
  public:
    virtual ~Reader() = default;

    // The board is about to be started.
    void restart(bool clock_restarts);
    // Takes an event, or what comes with events, if there is one within this time.
    Code read(int timeout_ms);

  protected:
    Reader(Connection& connection, Options const& options, Board& board);

    virtual Code take(int timeout_ms) = 0;
    // Returns picoseconds.
    std::uint64_t time_of(std::uint64_t tag, std::size_t channel = 0);
    void count_trigger(std::uint32_t id);
    std::uint64_t tick_ps() const { return tick_ps_; }
    Table* table_of(std::uint64_t channel) const {
        return channel < board_.table_of.size() ? board_.table_of[channel] : nullptr;
    }
    Connection const& connection() const { return connection_; }
    Options const& options() const { return options_; }
    Board& board() { return board_; }

  private:
    Connection& connection_;
    Options const& options_;
    Board& board_;
    std::uint64_t tick_ps_;
    std::vector<TimeTags> tags_; // of all channels together, or of each one
    TriggerIds ids_;
    std::uint64_t empty_ns_ = 0; // when there was last no event
};

// They choose the endpoint, and set the columns and the lengths of waveforms.
std::unique_ptr<Reader> make_scope_reader(Connection& connection, Options const& options, Board& board);
std::unique_ptr<Reader> make_dpp_reader(Connection& connection, Options const& options, Board& board);
std::unique_ptr<Reader> make_raw_reader(Connection& connection, Options const& options, Board& board);

} // namespace thalweg::source::caen
