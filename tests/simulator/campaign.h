// Histories one after the other, for some time, in several processes; and what they add up to.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulator/history.h"

namespace thalweg::simulator {

// Of which there are histories of their own.
struct Kind {
    Container container = Container::hdf5;
    bool of_nodes = false; // several

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
    std::optional<Container> container; // none: both in turn
    std::optional<bool> of_nodes;       // none: each fourth is of several
    std::uint64_t states = 4;           // crash states of each snapshot
    std::uint64_t histories = kNever;   // at most, of each job
    std::uint64_t findings = kNever;    // after so many it ends
    std::string lying_file;
    std::uint32_t lying_to = kNoMachine; // the machine of a node; none: to all
};

struct Totals {
    std::uint64_t histories = 0;
    std::uint64_t states = 0;
    std::uint64_t history_ns = 0; // CPU time
    std::uint64_t state_ns = 0;
    std::uint64_t faults = 0;
    // So that one sees whether the histories are worth their time.
    std::uint64_t closed = 0;         // histories that ended with a close without an error
    std::uint64_t resumed = 0;        // how often a run was resumed after all had stopped
    std::uint64_t further_files = 0;  // in which runs have gone on
    std::uint64_t ordered = 0;        // histories of runs in the order of their keys
    std::uint64_t copies = 0;         // that were recovered before their originals
    std::uint64_t machine_deaths = 0; // of histories of several nodes
    std::uint64_t machine_stops = 0;
    std::uint64_t recovered_stopped = 0; // runs of which a machine stood still
    std::uint64_t rows = 0;              // taken, over all states
    std::uint64_t promised_rows = 0;     // of these

    void add(Totals const& other);
    Totals since(Totals const& before) const;
};

struct Finding {
    std::uint64_t seed = 0;
    Kind kind;
    std::string text;
};

// One history and its crash states, in this process.
Totals play(Workshop& workshop, Kind kind, std::uint64_t seed, CampaignOptions const& options,
            std::vector<std::string>& faults);

struct CampaignResult {
    std::array<Totals, 4> totals; // by number of kind
    std::vector<Finding> findings;

    Totals const& of(Kind kind) const { return totals[number_of(kind)]; }
    Totals all() const;

    CampaignResult since(CampaignResult const& before) const;
};

// What has come since it was told last.
using TellProgress = std::function<void(CampaignResult const&)>;

// A history that crashes or does not end is a finding, too. `tell` is called every few seconds and at the end, so that
// what was played counts even where the campaign is killed. SIGTERM and SIGINT end it early, once each process has
// ended the history it is at; so it is called by a program that has no other use for these.
CampaignResult run_campaign(CampaignOptions const& options, TellProgress const& tell = {});

} // namespace thalweg::simulator
