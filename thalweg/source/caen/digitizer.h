// A digitizer of CAEN, with the calls of a source.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/source/caen/driver.h"
#include "thalweg/source/caen/options.h"
#include "thalweg/source/caen/readers.h"
#include "thalweg/source/caen/rows.h"

namespace thalweg::source::caen {

// One thread calls it, except counters().
class Digitizer {
  public:
    // Opens and configures the board. Throws base::UsageError if it cannot do what the options say, and DriverError if
    // it does not answer.
    explicit Digitizer(Options options);

    std::string describe() const; // as JSON
    void start();
    // The events that the board has taken until now are the last ones.
    void stop();

    enum class Got : std::uint8_t { rows, nothing, ended };
    // Waits for rows for at most so long. Those of table() are in rows() until the next call.
    Got next(std::uint64_t timeout_ns);
    std::size_t table() const { return table_; }
    Rows const& rows() const { return board_.tables[table_].rows; }
    Columns const& columns() const { return board_.columns; }

    std::size_t tables() const { return board_.tables.size(); }
    Counters const& counters() const { return board_.counters; }

  private:
    bool is_dpp() const { return options_.endpoint.starts_with("dpp"); }
    void read_identity();
    void choose_endpoint();
    void enable_channels();
    void set_samples();
    void set_parameters();
    void read_back();
    void read_samples();
    void set(std::string const& path, std::string const& value);
    std::string channel_path(std::uint32_t channel, char const* parameter) const;
    void collect(int timeout_ms);
    std::size_t collected_bytes() const;
    bool show_next();

    Options options_;
    Connection connection_;
    std::string model_, serial_, firmware_;
    std::vector<std::pair<std::string, std::string>> set_; // in their order
    std::string other_values_;                             // that the board took, and not those that were given
    Board board_;
    std::unique_ptr<Reader> reader_;
    std::size_t table_ = 0;
    bool is_showing_ = false; // rows of some tables are still to be handed out
    bool is_running_ = false, is_stopping_ = false, is_over_ = false;
    bool is_fresh_ = false; // nothing was read since the start
};

} // namespace thalweg::source::caen
