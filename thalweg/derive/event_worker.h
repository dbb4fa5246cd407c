// Does the work of one process of a job: its threads take ranges, call the function, and commit what it made.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/thread.h"
#include "thalweg/derive/event_board.h"
#include "thalweg/derive/events.h"

namespace thalweg::derive {

struct LoopFile {
    std::string path;
    std::string table;
};

// The job as all workers know it before they are forked.
struct LoopJob {
    std::vector<LoopFile> files;
    std::vector<LoopRange> ranges;
    std::vector<std::uint64_t> waiting; // numbers of ranges, in the order in which they are given out
    std::function<void(Events&)> function;

    // As a message has it: "in.root: events 100 to 200".
    std::string name_of(LoopRange const& range) const;
};

struct LoopTarget {
    std::string path;
    std::string handle; // of the run
    model::Schema schema;
};

class EventWorker {
  public:
    // Attaches to the outputs.
    EventWorker(LoopJob const& job, EventBoard& board, std::vector<LoopTarget> const& targets);

    // Does first, in one thread, the ranges that have to be done again, so that it is known which one kills a worker.
    // Then does all others in so many threads, the first one with slot `first_slot`. Returns when none is left, or all
    // stop.
    void run(unsigned first_slot, unsigned threads);
    void finish();

  private:
    struct OpenFile {
        std::unique_ptr<dataset::Reader> reader;
        std::size_t table = 0;
    };
    void run_slot(unsigned slot);
    void do_range(unsigned slot, std::uint64_t place);
    bool try_range(LoopRange const& range);
    OpenFile const& open_file(std::size_t file);

    LoopJob const& job_;
    EventBoard& board_;
    std::vector<LoopTarget> const& targets_;
    std::vector<std::unique_ptr<dataset::WorkUnits>> units_; // by target
    base::Mutex mutex_;
    std::vector<OpenFile> files_ THALWEG_GUARDED_BY(mutex_);
};

// Returns the summary of a unit, which describes its range, as `tw.derive` writes it.
std::string summary_text(std::uint64_t events, std::uint64_t rows, std::map<std::string, double> const& sums);
std::map<std::string, double> sums_in(std::string const& summary);

} // namespace thalweg::derive
