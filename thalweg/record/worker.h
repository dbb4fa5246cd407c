// Some streams of a source into a run, by one thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/base/shared_number.h"
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
    // Attaches to the run `handle`: one producer a stream, in the table that bears the stream's name, behind a prefix.
    Worker(std::string const& handle, source::Source& source, std::vector<std::size_t> const& streams,
           std::optional<unsigned> seal_threads = {}, std::string const& table_prefix = "");

    // Returns when every stream has ended, or, after stop(), when what was on board is published. Throws what its
    // producers throw; what was published before is in the run all the same. Once.
    void run();

    // From any thread. A stopped or paused stream takes no more triggers; what is on board is recorded.
    void stop() { state_ = State::stopping; }
    void pause();
    void resume();

    // By stream, from any thread; while run() runs, rows are those of a moment ago.
    std::vector<StreamResult> results() const;

  private:
    enum class State : std::uint8_t { running, paused, stopping };

    struct Stream {
        std::string name;
        std::unique_ptr<source::StreamReader> reader;
        dataset::Producer producer;
        std::unique_ptr<base::SharedNumber> rows =
            std::make_unique<base::SharedNumber>(); // what others may see of the producer
        bool done = false;
    };

    void work();
    void apply(State state);
    bool take_turn(Stream& stream);
    static void publish_counters(Stream const& stream);

    std::vector<Stream> streams_;
    std::atomic<State> state_ = State::running;
    State applied_ = State::running;
};

} // namespace thalweg::record
