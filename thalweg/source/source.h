// The seam between detectors and datasets: a source has streams, and each stream is read by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thalweg/model/run.h"

namespace thalweg::source {

// One detector channel. Its rows go to one table, which bears its name.
struct Stream {
    std::string name;
    model::Table table;
};

// Rows as a card hands out its memory: by reference, never copied for the reader. The bytes of column i of
// model::flatten(table) are columns[i], items one behind the other. Where rows do not lie side by side in memory,
// as pulses of the emulator, a batch is one row.
struct Batch {
    std::uint64_t rows = 0;
    std::span<std::span<std::byte const> const> columns;
};

// What a stream has seen since it was opened. Triggers that found the on-board memory full are lost, and the time it
// was full is dead time; so `triggers` of a stream are the rows handed out, those still on board, and `lost`. (The row
// that was handed out last counts as on board until the next call of next().)
struct Counters {
    std::uint64_t triggers = 0;
    std::uint64_t lost = 0;
    std::uint64_t piled_up = 0; // pulses while a record was being taken: they start none of their own
    std::uint64_t rows = 0;     // handed out
    std::uint64_t onboard_bytes = 0;
    std::uint64_t onboard_limit_bytes = 0; // 0: the source keeps nothing on board and so loses nothing
    std::uint64_t dead_time_ns = 0;        // by the stream's own clock, as is live_time_ns
    std::uint64_t live_time_ns = 0;
};

// One thread drives a reader; only counters() may be called from others, too.
class StreamReader {
  public:
    virtual ~StreamReader() = default;

    // True: `batch` holds at least one row, and its bytes stay until the next call. False: nothing came before
    // `deadline_ns` of base::monotonic_ns() (0: do not wait), or nothing will ever come: see ended().
    virtual bool next(Batch& batch, std::uint64_t deadline_ns) = 0;
    virtual bool ended() const = 0;
    virtual Counters counters() const = 0;

    // While paused no trigger is taken (none counts as lost); what is on board still comes.
    virtual void pause() = 0;
    virtual void resume() = 0;
};

// Made from options alone, and the same wherever it is made from the same options: every process makes its own and
// opens only its own streams.
class Source {
  public:
    virtual ~Source() = default;

    virtual std::vector<Stream> const& streams() const = 0;
    // From the stream's first row on. The reader stays valid without its source. Throws base::UsageError where there
    // is no such stream.
    virtual std::unique_ptr<StreamReader> open(std::size_t stream) = 0;
    // What a run should remember of where its rows come from: "source", "clock_domain", and all that was configured.
    virtual std::map<std::string, std::string> metadata() const = 0;
    // Of a run that records all streams.
    virtual model::Schema schema() const {
        model::Schema schema;
        for (auto const& stream : streams()) schema.tables.push_back(stream.table);
        return schema;
    }
    // What of its input it does not hand out, and why.
    virtual std::vector<model::LeftOut> left_out() const { return {}; }
};

} // namespace thalweg::source
