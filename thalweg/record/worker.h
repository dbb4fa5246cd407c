// Records some streams of a source into a run, in one thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/base/shared_number.h"
#include "thalweg/base/thread.h"
#include "thalweg/dataset/append/producer.h"
#include "thalweg/source/source.h"

namespace thalweg::record {

struct StreamResult {
    std::string name;
    std::uint64_t rows = 0; // published, in all files
    source::Counters counters;
};

class Worker {
  public:
    // Attaches to the run `handle`, with one producer per stream. Its table has the prefix and the stream's name.
    Worker(std::string const& handle, source::Source& source, std::vector<std::size_t> const& streams,
           std::optional<unsigned> seal_threads = {}, std::string const& table_prefix = "");

    // Runs until every stream has ended, or, after stop(), until what was on board is published. Throws what its
    // producers throw; what was published before is in the run all the same. Call it once.
    void run();

    // These may be called from any thread. A stopped or paused stream takes no more triggers; what is on board is
    // recorded.
    void stop() { state_ = State::stopping; }
    void pause();
    void resume();

    // Returns the results by stream, from any thread. While run() runs, rows may lag behind slightly.
    std::vector<StreamResult> results() const;
    // Returns what the users of the streams should know, from any thread. While run() runs, it is up to a quarter of a
    // second old.
    std::vector<source::Remarks> remarks() const;

  private:
    enum class State : std::uint8_t { running, paused, stopping };

    struct RecordedStream {
        std::string name;
        std::unique_ptr<source::StreamReader> reader;
        dataset::Producer producer;
        std::unique_ptr<base::SharedNumber> rows =
            std::make_unique<base::SharedNumber>(); // the number that other threads may read
        bool done = false;
    };

    void work();
    void look_at_remarks();
    void apply(State state);
    bool take_turn(RecordedStream& stream, std::uint64_t deadline_ns);
    void append(RecordedStream& stream, source::Batch const& batch);
    static void publish_counters(RecordedStream const& stream);

    std::vector<RecordedStream> streams_;
    std::atomic<State> state_ = State::running;
    State applied_ = State::running;
    std::uint64_t next_remarks_ns_ = 0;
    mutable base::Mutex mutex_;
    std::vector<source::Remarks> remarks_ THALWEG_GUARDED_BY(mutex_); // by stream
};

} // namespace thalweg::record
