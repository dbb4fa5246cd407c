// Runs histories one after the other for some time, in several processes, and adds up their results.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulator/history.h"

namespace thalweg::simulator {

// The kinds of histories.
struct Kind {
    Container container = Container::hdf5;
    bool of_nodes = false; // with several nodes

    std::string name() const { return container == Container::hdf5 ? "h5" : "root"; }
    bool operator==(Kind const&) const = default;
};

inline constexpr std::array kKinds = {Kind{Container::hdf5}, Kind{Container::rntuple}, Kind{Container::hdf5, true},
                                      Kind{Container::rntuple, true}};
inline std::size_t number_of(Kind kind) {
    return (kind.container == Container::hdf5 ? 0 : 1) + (kind.of_nodes ? 2 : 0);
}

struct CampaignOptions {
    double seconds = 10;
    unsigned jobs = 1;
    std::uint64_t first_seed = 1;
    std::optional<Container> container; // empty: both in turn
    std::optional<bool> of_nodes;       // empty: every fourth history has several nodes
    std::uint64_t states = 4;           // crash states per snapshot
    std::uint64_t histories = kNever;   // limit for each job
    std::uint64_t findings = kNever;    // the campaign ends after so many
    std::string lying_file;
    std::uint32_t lying_to = kNoMachine; // the machine of a node; none: all machines
};

struct Totals {
    std::uint64_t histories = 0;
    std::uint64_t states = 0;
    std::uint64_t history_ns = 0; // CPU time
    std::uint64_t state_ns = 0;
    std::uint64_t faults = 0;
    // These show whether the histories are worth their time.
    std::uint64_t closed = 0;         // histories that ended with a close without an error
    std::uint64_t resumed = 0;        // how often a run was resumed after all had stopped
    std::uint64_t further_files = 0;  // files in which runs went on
    std::uint64_t ordered = 0;        // histories of runs ordered by key
    std::uint64_t copies = 0;         // copies that were recovered before their originals
    std::uint64_t shown = 0;          // states in which other programs saw rows of an open run
    std::uint64_t machine_deaths = 0; // in histories of several nodes
    std::uint64_t machine_stops = 0;
    std::uint64_t recovered_stopped = 0; // runs that were recovered while a machine stood still
    std::uint64_t rows = 0;              // rows that `append` took, over all states
    std::uint64_t promised_rows = 0;     // rows of these that must be there

    void add(Totals const& other);
    Totals since(Totals const& before) const;
};

struct Finding {
    std::uint64_t seed = 0;
    Kind kind;
    std::string text;
};

// Plays one history and its crash states in this process.
Totals play(Workshop& workshop, Kind kind, std::uint64_t seed, CampaignOptions const& options,
            std::vector<std::string>& faults);

struct CampaignResult {
    std::array<Totals, 4> totals; // by the number of the kind
    std::vector<Finding> findings;

    Totals const& of(Kind kind) const { return totals[number_of(kind)]; }
    Totals all() const;

    CampaignResult since(CampaignResult const& before) const;
};

// Gets the results since its last call.
using TellProgress = std::function<void(CampaignResult const&)>;

// A history that crashes or does not end is a finding, too. `tell` is called every few seconds and at the end, so that
// results count even if the campaign is killed. SIGTERM and SIGINT end the campaign early, when each process has ended
// its current history; so the calling program must not use these signals otherwise.
CampaignResult run_campaign(CampaignOptions const& options, TellProgress const& tell = {});

} // namespace thalweg::simulator
