// Long runs in several jobs: a checkpoint holds what a program has done so far, and the next job goes on from there, on
// any number of ranks.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <thalweg/checkpoint/save.h>

#include "options.h"
#include "stop.h"
#include "strips.h"
#include "wave.h"

namespace quantum_hall {

// The progress of a program and its results. Between vectors of the trace it goes on without a wave function.
struct Progress {
    std::int64_t vectors = 0; // done
    std::int64_t steps = 0;   // done with the next vector
    std::map<std::string, std::vector<double>> results;
    std::map<std::string, Wave*> waves;
};

class Continuation {
  public:
    // Reads the checkpoint into `progress` if --continue was given. Throws thalweg::base::UsageError if the checkpoint
    // belongs to another program or another run, or if there is one and --continue was not given.
    Continuation(Options const& options, Strips& strips, Progress& progress);

    // Saves `progress` between two pieces of work if that is due; a thread saves it while the program goes on. Returns
    // false if the program has to end early; the checkpoint is then durable.
    bool goes_on();
    // Everything is done. If a checkpoint could not be saved meanwhile, it is no longer needed, and stderr only
    // mentions it.
    void finish();
    // Reports that on stdout.
    void report_unfinished() const;

  private:
    void restore();
    void save(bool in_background);
    void wait_for_save();

    Options const& options_;
    Strips& strips_;
    Progress& progress_;
    Stop stop_;
    std::string reason_;
    double saved_s_ = 0;
    std::optional<thalweg::checkpoint::SavingInBackground> saving_;
};

// The options that must be the same when a run is continued.
nlohmann::json identity(Options const& options);

} // namespace quantum_hall
