// Shared by the programs of all studies: PROGRAM SUBCOMMAND --name value ..., one JSON object on stdout.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "studies/driver/arguments.h"

namespace thalweg::study {

using Json = nlohmann::ordered_json;
using Subcommands = std::map<std::string, Json (*)(Arguments&)>;

// Returns the exit code.
int run_subcommand(Subcommands const& subcommands, std::span<char* const> words);

} // namespace thalweg::study
