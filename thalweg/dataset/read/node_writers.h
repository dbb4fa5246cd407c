// Tells who writes a run, or its part of one node, to the files that ask for it.
#pragma once

#include <memory>
#include <string>

#include "thalweg/dataset/read/run_writers.h"
#include "thalweg/dataset/run/ledger.h"
#include "thalweg/dataset/run/run_place.h"

namespace thalweg::dataset {

struct NodeWriters {
    RunWriters writers;
    std::unique_ptr<Ledger> ledger; // of processes that can be asked for here; nothing if it is gone, or elsewhere
};

NodeWriters node_writers(RunPlace const& place, JournalFiles const& journal, std::string const& run_id);

} // namespace thalweg::dataset
