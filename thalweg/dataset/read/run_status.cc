#include "thalweg/dataset/read/run_status.h"

#include <cerrno>
#include <exception>
#include <fmt/format.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/read/node_writers.h"
#include "thalweg/dataset/run/backoff.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/dataset/run/staging.h"
#include "thalweg/dataset/run/status_board.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kPatienceNs = 2'000'000'000; // with figures that change all the time
constexpr int kMostLooks = 3;                        // at a run that is closed meanwhile

// Nothing if no producer has the slot, or none that says who it is.
std::optional<ProducerStatus> producer_in(Ledger& ledger, model::RunHead const& head, std::size_t index) {
    auto const& slot = ledger.slot(index);
    auto const state = slot.state.load();
    if (slot.taker == 0 || state == SlotState::free || state == SlotState::settled) return std::nullopt;
    ProducerStatus status{.number = slot.number, .table = slot.table, .process = slot.producer};
    status.state = state;
    if (status.table >= head.columns.size())
        base::fail_data({fmt::format("the status of {} cannot be read", ledger.head().path), "its memory is damaged"});
    if (state == SlotState::attaching) return status; // it has no memory yet
    auto const staging =
        Staging::open(ledger.open_staging(index), head.columns[status.table], head.layouts[status.table]);
    read_counts(staging, status);
    return status;
}

// A producer that has ended is in the sums, and one that has not is in a slot, unless `changes` is another number
// afterwards.
NodeFigures read_producers(Ledger& ledger, StatusBoard const& board, model::RunHead const& head) {
    NodeFigures figures;
    for (std::size_t table = 0; table < board.tables(); ++table) {
        figures.ended.push_back(board.read_sums(table));
        figures.names_without_room += board.sums(table).names_without_room;
    }
    for (std::size_t index = 0; index < ledger.slots_used(); ++index) {
        if (auto status = producer_in(ledger, head, index)) figures.producers.push_back({std::move(*status), false});
    }
    return figures;
}

// Nothing if the figures have changed meanwhile.
std::optional<NodeFigures> try_producers(Ledger& ledger, StatusBoard const& board, model::RunHead const& head) {
    auto const before = board.changes();
    if (before % 2 != 0) return std::nullopt;
    try {
        auto figures = read_producers(ledger, board, head);
        if (board.changes() == before) return figures;
    } catch (base::Error const&) { // the memory of a producer has gone to another one
        if (board.changes() == before) throw;
    }
    return std::nullopt;
}

NodeFigures producers_of(Ledger& ledger, StatusBoard const& board, model::RunHead const& head) {
    auto const end = base::monotonic_ns() + kPatienceNs;
    Backoff backoff;
    while (true) {
        if (auto figures = try_producers(ledger, board, head)) return std::move(*figures);
        if (base::monotonic_ns() > end) {
            base::fail_system(
                {fmt::format("the status of {} cannot be read", ledger.head().path),
                 fmt::format("its figures change, or its committer, process {}, was stopped as it changed "
                             "them",
                             ledger.head().committer.pid),
                 "ask again"});
        }
        backoff.pause();
    }
}

std::optional<NodeFigures> figures_of(Ledger& ledger, model::RunHead const& head) {
    auto const board = StatusBoard::attach(ledger);
    if (!board) return std::nullopt;
    if (board->tables() != head.schema.tables.size())
        base::fail_data({fmt::format("the status of {} cannot be read", ledger.head().path), "its memory is damaged"});
    auto figures = producers_of(ledger, *board, head);
    for (auto& producer : figures.producers) producer.is_alive = base::is_alive(producer.status.process);
    read_committed(ledger, board->figures(), figures);
    return figures;
}

// Nothing if the run is complete, and its process was killed before it had removed the journal.
std::optional<NodeStatus> status_at(RunPlace const& place, JournalFiles const& journal, model::RunHead const& head) {
    auto const start = journal.required_start();
    if (start->preamble.run_id != head.id)
        base::fail_data({fmt::format("{} is another run now", place.data()),
                         fmt::format("it was {}, and is {}", head.id, start->preamble.run_id), "open it again"});
    auto found = node_writers(place, journal, head.id);
    NodeStatus status{place.node().node, start->preamble.host, std::move(found.writers)};
    if (!found.ledger) return status;
    auto const& shared = found.ledger->head();
    auto const state = shared.state.load();
    if (status.writers.state == WriterState::alive) {
        status.is_closing = state == LedgerState::closing || state == LedgerState::closed;
        if (base::is_alive(shared.committer)) status.committer = shared.committer.pid;
    } else if (state == LedgerState::closed) {
        return std::nullopt;
    }
    status.figures = figures_of(*found.ledger, head);
    return status;
}

// Nothing if the run is closed, or if the file is alone.
std::optional<RunStatus> status_of_open(Reader const& reader) {
    auto const places = places_of_run(reader.path());
    if (places.empty()) return std::nullopt;
    auto const journals = open_journals(places, storage::OpenMode::read_only);
    RunStatus status;
    for (std::size_t i = 0; i < places.size(); ++i) {
        auto node = status_at(places[i], journals[i], reader.head());
        if (!node) return std::nullopt;
        status.nodes.push_back(std::move(*node));
    }
    return status;
}

// False if the run has a journal again, or was still being closed.
bool is_closed(Reader const& reader) {
    auto const now = Reader::open(reader.path());
    if (now->head().id != reader.head().id)
        base::fail_data({fmt::format("{} is another run now", reader.path()),
                         fmt::format("it was {}, and is {}", reader.head().id, now->head().id), "open it again"});
    return !now->is_open_run();
}

} // namespace

RunStatus status_of(Reader const& reader) {
    if (!reader.is_open_run()) return {true, {}};
    std::exception_ptr missing; // a file: of a run that is closed meanwhile, or one of the machine, such as /proc
    for (int look = 0; look < kMostLooks; ++look) {
        try {
            missing = nullptr;
            if (auto status = status_of_open(reader)) return std::move(*status);
        } catch (base::SystemError const& error) {
            if (error.code != ENOENT) throw;
            missing = std::current_exception();
        }
        if (is_closed(reader)) return {true, {}};
    }
    if (missing) std::rethrow_exception(missing);
    if (!places_of_run(reader.path()).empty())
        base::fail_system(
            {fmt::format("the status of {} cannot be read", reader.path()), "it was just being closed", "ask again"});
    RunWriters const unknown{WriterState::gone, "there is no journal beside it: it is a copy that was taken while the "
                                                "run was open, or was moved away from its journal"};
    return {false, {{0, "", unknown}}};
}

} // namespace thalweg::dataset
