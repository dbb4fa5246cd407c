// Lets ranks agree: if one rank fails, all ranks fail with the same error, and none waits for one that has given up.
//
// One agreement: each rank does its part; rank 0 gathers what all said, or how they failed; rank 0 concludes; every
// rank gets that answer by a broadcast.
//
// Invariants:
//
//  1. Every rank makes the same two calls of the communicator, whatever happens on it: its own part cannot throw out of
//     the agreement before.
//  2. All ranks return the same answer, or throw an error of the same kind, text and code. It names the lowest rank
//     that failed.
#pragma once

#include <exception>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "thalweg/ranks/communicator.h"

namespace thalweg::ranks {

using Json = nlohmann::json;

// All ranks call it. What `own` returns on each rank goes to rank 0, `conclude` makes an answer of all of it there, and
// every rank returns that answer. If any of them throws, every rank throws the error of the first that did, under the
// head `problem` of rank 0 ("psi.h5 cannot be saved"), with the number of that rank.
Json agree(Communicator& comm, std::string const& problem, std::function<Json()> const& own,
           std::function<Json(std::vector<Json> const&)> const& conclude);

// Takes part in an agreement as a rank that has failed before it: all ranks throw `why`, as `agree` says.
[[noreturn]] void refuse(Communicator& comm, std::string const& problem, std::exception_ptr const& why);

} // namespace thalweg::ranks
