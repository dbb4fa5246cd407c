// How a node comes to a new run of several: as the first one, which creates it, or as one that joins it.
#pragma once

#include <cstdint>
#include <string>

#include "thalweg/dataset/begin/begun_run.h"
#include "thalweg/dataset/begin/options.h"
#include "thalweg/dataset/nodes/meeting.h"
#include "thalweg/dataset/run/run_place.h"

namespace thalweg::dataset {

// The same as begin_alone (begun_run.h) on the first node: returns when all nodes are there.
void begin_as_first(BegunRun& begun, CreateOptions const& options, format::Format const& format);

// On every other node: returns when all are there. Throws base::UsageError that names the nodes that are missing when
// the time is over, if the node is there already, or if nodes do not agree.
BegunRun join_run(std::string const& path, std::uint32_t node, JoinOptions const& options);

// Opens the file of a run that node 1 has begun, for the node at `place`: all but its journal and its memory.
void open_joined(BegunRun& begun, RunPlace const& place, model::RunHead const& head, JoinOptions const& options);
// Begins the journal and the memory of a node that has none yet.
void begin_joined(BegunRun& begun, RunPlace const& place);
// Watches the file, and makes the name of this node's journal durable.
void watch_part(BegunRun& begun, RunPlace const& place);
// Takes the rules of the run, which has begun.
void take_rules(BegunRun& begun, RunPlace const& place);

} // namespace thalweg::dataset
