// The subcommands. Each measures one thing and returns the result: times in seconds, rates in 10^9 bytes per second.
#pragma once

#include "studies/driver/subcommands.h"

namespace thalweg::study {

Json measure_write(Arguments& arguments);      // rows into one durable file, or into memory
Json measure_pages(Arguments& arguments);      // very many very small pages: the cost per page of committer and close
Json measure_memory(Arguments& arguments);     // memory of one producer in a process of its own
Json produce_for_memory(Arguments& arguments); // that process
Json measure_source(Arguments& arguments);     // the emulated card alone
Json measure_encode(Arguments& arguments);     // the codec alone
Json measure_read(Arguments& arguments);       // columns of a closed file
Json measure_projection(Arguments& arguments); // reading one column of many
Json measure_nodes(Arguments& arguments);      // nodes that write one file, as processes of this machine
Json measure_claims(Arguments& arguments);     // extents of a node, with its regions
Json measure_names(Arguments& arguments);      // names that several threads create in competition
Json measure_event_loop(Arguments& arguments); // workers that fill two files, processes and threads
Json dump_pulses(Arguments& arguments);        // for programs in other languages

} // namespace thalweg::study
