// A way to save and restore, with its input and its results.
#pragma once

#include "ranks.h"

#include <functional>
#include <map>

struct Job {
    Job(std::string where, std::vector<double> what) : path(std::move(where)), values(std::move(what)) {}

    std::string path;
    std::vector<double> values; // of this rank
    std::vector<std::string> hints = {};
    std::string in_effect = {}; // the hints that MPI-IO knows
    std::string ignored = {};   // the requested hints that it does not know
    std::vector<std::pair<std::string, double>> phases = {};

    std::uint64_t bytes() const { return values.size() * sizeof(double); }
    std::string own_path() const { return path + "." + std::to_string(rank_of()); }

    void begin() { last_ = now(); }
    // Ends a phase: counts what has happened since the last one.
    void phase(char const* name) {
        auto const end = now();
        phases.emplace_back(name, end - last_);
        last_ = end;
    }

  private:
    double last_ = 0;
};

struct Strategy {
    std::function<void(Job&)> save;
    std::function<void(Job&)> restore;
};

using Strategies = std::map<std::string, Strategy>;

Strategies posix_strategies();
Strategies mpiio_strategies(int ranks);
Strategies hdf5_strategies(); // empty without parallel HDF5

inline void check(int result, char const* what) {
    if (result != MPI_SUCCESS) fail(what);
}

inline void require(long long result, char const* what) {
    if (result < 0) fail(what);
}

// The hints of MPI-IO, also for HDF5.
MPI_Info info_of(Job const& job);
void note_hints(Job& job, MPI_File file);
