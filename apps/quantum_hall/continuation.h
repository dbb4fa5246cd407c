// Long runs in several jobs: what a program has done so far lies in a checkpoint, and the next job goes on from there,
// on any number of ranks.
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

// Where a program is, and what it has. Between vectors of the trace no wave function is needed to go on.
struct Progress {
    std::int64_t vectors = 0; // done
    std::int64_t steps = 0;   // done with the next vector
    std::map<std::string, std::vector<double>> results;
    std::map<std::string, Wave*> waves;
};

class Continuation {
  public:
    // Reads the checkpoint into `progress` where --continue was given. Throws thalweg::base::UsageError where it is
    // that of another program or another run, or where there is one and --continue was not given.
    Continuation(Options const& options, Strips& strips, Progress& progress);

    // Between two pieces of work, with `progress` as it is then: saves it where that is due, in a thread where the
    // program goes on meanwhile. False: the program has to end without being done, and the checkpoint is durable.
    bool goes_on();
    // All is done. A checkpoint that could not be saved meanwhile is not needed any more: it is only said on stderr.
    void finish();
    // Says so on stdout.
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

// What has to be the same when a run is continued.
nlohmann::json identity(Options const& options);

} // namespace quantum_hall
