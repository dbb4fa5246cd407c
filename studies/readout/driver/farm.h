// One process with many handlers, and one with many collectors: as many sides of a readout as a few cores can run. Each
// answers every line of its input with a line of JSON, until its input ends.
#pragma once

#include <functional>
#include <string>

#include "studies/driver/subcommands.h"

namespace thalweg::study {

// The counters of a process that both sides tell: its time, its memory, and its TCP connections.
Json process_now();

// Answers each line of the input with what `answer` returns for it.
void answer_lines(std::function<Json(std::string const&)> const& answer);
void say(Json const& line);

} // namespace thalweg::study
