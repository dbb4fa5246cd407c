// What one rank fails at, all ranks fail at: nobody waits for one that has given up.
#pragma once

#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "thalweg/ranks/communicator.h"

namespace thalweg::ranks {

using Json = nlohmann::json;

// All ranks call it. What `own` gives on each rank goes to rank 0, `conclude` makes an answer of all of it there, and
// every rank returns that. Where any of them throws, every rank throws the error of the first that did, under the head
// `problem` ("psi.h5 cannot be saved"), with the number of that rank.
Json agree(Communicator& comm, std::string const& problem, std::function<Json()> const& own,
           std::function<Json(std::vector<Json> const&)> const& conclude);

} // namespace thalweg::ranks
