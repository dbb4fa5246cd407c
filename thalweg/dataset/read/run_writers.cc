#include "thalweg/dataset/read/run_writers.h"

#include <fmt/format.h>

#include "thalweg/base/process.h"
#include "thalweg/dataset/run/ledger.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/dataset/run/run_place.h"

namespace thalweg::dataset {
namespace {

bool has_living_writer(Ledger const& ledger) {
    auto const state = ledger.head().state.load();
    bool const is_open = state == LedgerState::open || state == LedgerState::closing;
    return (is_open && base::is_alive(ledger.head().committer)) || ledger.has_producers();
}

RunWriters unknown(std::string const& host) {
    return {WriterState::unknown,
            fmt::format("it is, or was, written on {}: ask there whether it is still written", host)};
}

} // namespace

RunWriters writers_of(Reader const& reader) {
    auto const places = places_of_run(reader.path());
    auto const journals = open_journals(places, storage::OpenMode::read_only);
    RunWriters writers{WriterState::ended, ""};
    for (std::size_t i = 0; i < places.size(); ++i) {
        auto const ledger = find_ledger(reader.head().id, places[i], journals[i]);
        if (ledger && has_living_writer(*ledger)) return {WriterState::alive, ""};
        auto const start = journals[i].start();
        bool const is_here = ledger || start->preamble.host == base::host_name();
        if (!is_here) writers = unknown(start->preamble.host);
    }
    return writers;
}

} // namespace thalweg::dataset
