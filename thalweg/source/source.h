// The seam between detectors and datasets: a source has streams, and one thread reads each stream.
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

// One detector channel. Its rows go to one table, which has its name.
struct Stream {
    std::string name;
    model::Table table;
};

// Rows as a card hands out its memory: by reference, never copied for the reader. columns[i] has the bytes of column i
// of model::flatten(table), one item behind the other. If rows do not lie side by side in memory, as the emulator's
// pulses, a batch is one row.
struct Batch {
    std::uint64_t rows = 0;
    std::span<std::span<std::byte const> const> columns;
};

// The counters of a stream since it was opened. Triggers that found the on-board memory full are lost, and the time for
// which it was full is dead time. So `triggers` is the sum of the rows handed out, those still on board, and `lost`.
// (The row that was handed out last counts as on board until the next call of next().)
struct Counters {
    std::uint64_t triggers = 0;
    std::uint64_t lost = 0;
    std::uint64_t piled_up = 0; // pulses during a record: they start no record of their own
    std::uint64_t rows = 0;     // handed out
    std::uint64_t onboard_bytes = 0;
    std::uint64_t onboard_limit_bytes = 0; // 0: the source keeps nothing on board and loses nothing
    std::uint64_t dead_time_ns = 0;        // by the clock of the stream, like live_time_ns
    std::uint64_t live_time_ns = 0;
    // What else this source counts, by a name of at most 23 bytes, for example "cut_rows". It only grows. Reports and
    // metrics show each of them.
    std::map<std::string, std::uint64_t> named;
};

// What the user of a stream should know when it is over, in whole sentences.
struct Remarks {
    std::vector<std::string> missing; // why rows that were sent may not be in the file: the command ends with 1
    std::vector<std::string> notes;
};

// One thread uses a reader; other threads may only call counters().
class StreamReader {
  public:
    virtual ~StreamReader() = default;

    // Returns true if `batch` holds at least one row; its bytes stay until the next call. Returns false if nothing came
    // before `deadline_ns` of base::monotonic_ns() (0: do not wait), or nothing will come any more: see ended().
    virtual bool next(Batch& batch, std::uint64_t deadline_ns) = 0;
    virtual bool ended() const = 0;
    virtual Counters counters() const = 0;
    virtual Remarks remarks() const { return {}; }

    // Stops taking triggers (none counts as lost); what is on board still comes.
    virtual void pause() = 0;
    virtual void resume() = 0;
};

// A source is made from options alone, and equal options give equal sources: every process makes its own and opens only
// its own streams.
class Source {
  public:
    virtual ~Source() = default;

    virtual std::vector<Stream> const& streams() const = 0;
    // Opens a stream at its first row. The reader stays valid without its source. Throws base::UsageError if there is
    // no such stream.
    virtual std::unique_ptr<StreamReader> open(std::size_t stream) = 0;
    // Returns what a run should note of the origin of its rows: "source", "clock_domain", and the whole configuration.
    virtual std::map<std::string, std::string> metadata() const = 0;
    // Returns the schema of a run that records all streams.
    virtual model::Schema schema() const {
        model::Schema schema;
        for (auto const& stream : streams()) schema.tables.push_back(stream.table);
        return schema;
    }
    // Returns the parts of the input that the source does not hand out, and why.
    virtual std::vector<model::LeftOut> left_out() const { return {}; }
};

} // namespace thalweg::source
