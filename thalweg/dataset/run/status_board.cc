#include "thalweg/dataset/run/status_board.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <new>
#include <string>

#include "thalweg/base/error.h"
#include "thalweg/dataset/run/run_memory.h"

namespace thalweg::dataset {
namespace {

constexpr char kBoardMagic[8] = {'T', 'H', 'L', 'B', 'O', 'A', 'R', 'D'};
constexpr std::uint32_t kBoardVersion = 1;

std::string board_name(Ledger const& ledger) {
    return ledger_name(ledger.head().run_id, ledger.head().node) + "-board";
}

std::size_t board_bytes(std::size_t tables) { return sizeof(BoardHead) + tables * sizeof(TableSums); }

bool lies_in_folder(std::string const& name) { return name.find('/') != std::string::npos; }

// The board is where the ledger is, and in the folder if there is no room for it.
base::SharedMemory make_memory(Ledger& ledger, std::size_t size_bytes) {
    if (!ledger.is_shared()) return base::SharedMemory::create_private(size_bytes);
    auto& shared = ledger.head();
    auto const name = board_name(ledger);
    auto memory = lies_in_folder(ledger.name())
                      ? base::SharedMemory::create(base::name_in_folder(shared.memory_folder, name), size_bytes)
                      : base::SharedMemory::create_where_room(name, size_bytes, memory_fallback_of(shared));
    memory.keep(); // it goes with the ledger
    ++(lies_in_folder(memory.name()) ? shared.folder_segments : shared.shm_segments);
    return memory;
}

std::optional<base::SharedMemory> find_memory(Ledger const& ledger) {
    try {
        return base::SharedMemory::attach_where_it_is(board_name(ledger), ledger.head().memory_folder);
    } catch (base::SystemError const& error) {
        if (error.code == ENOENT) return std::nullopt;
        throw;
    }
}

std::string name_of(NamedCounter const& counter) {
    return {counter.name, ::strnlen(counter.name, sizeof counter.name)};
}

// Returns nothing if there is no room for one more name.
NamedCounter* counter_of(TableSums& sums, std::string const& name) {
    for (auto& counter : sums.named) {
        if (counter.name[0] == 0) name.copy(counter.name, sizeof counter.name - 1);
        if (name_of(counter) == name) return &counter;
    }
    return nullptr;
}

} // namespace

StatusBoard::StatusBoard(base::SharedMemory memory)
    : memory_(std::move(memory)), tables_(reinterpret_cast<TableSums*>(memory_.data() + sizeof(BoardHead))) {}

StatusBoard StatusBoard::create(Ledger& ledger, std::size_t tables) {
    StatusBoard board(make_memory(ledger, board_bytes(tables)));
    auto& head = *new (board.memory_.data()) BoardHead{};
    head.version = kBoardVersion;
    head.tables = static_cast<std::uint32_t>(tables);
    for (std::size_t i = 0; i < tables; ++i) new (board.tables_ + i) TableSums{};
    std::atomic_thread_fence(std::memory_order_release);
    std::memcpy(head.magic, kBoardMagic, sizeof kBoardMagic); // last: a board with it is whole
    return board;
}

std::optional<StatusBoard> StatusBoard::attach(Ledger const& ledger) {
    auto memory = find_memory(ledger);
    if (!memory || memory->size() < sizeof(BoardHead)) return std::nullopt;
    StatusBoard board(std::move(*memory));
    auto const& head = board.head();
    if (std::memcmp(head.magic, kBoardMagic, sizeof kBoardMagic) != 0) return std::nullopt; // it is being made
    if (head.version != kBoardVersion) {
        base::fail_usage({fmt::format("the status of {} cannot be read", ledger.head().path),
                          fmt::format("its figures are of another version of Thalweg: {}, and this one's is {}",
                                      head.version, kBoardVersion),
                          "ask with the version of Thalweg that writes the run"});
    }
    if (board.memory_.size() < board_bytes(head.tables))
        base::fail_data({fmt::format("the status of {} cannot be read", ledger.head().path), "its memory is damaged"});
    return board;
}

void StatusBoard::set_sums(std::size_t table, EndedProducers const& ended) const {
    auto& sums = tables_[table];
    sums.producers = ended.producers;
    sums.died = ended.died;
    sums.abandoned = ended.abandoned;
    sums.rows = ended.rows;
    for (std::size_t i = 0; i < sums.counts.size(); ++i) sums.counts[i] = ended.counts[i];
    std::uint64_t without_room = 0;
    for (auto const& [name, value] : ended.named) {
        if (auto* const counter = counter_of(sums, name))
            counter->value = value;
        else
            ++without_room;
    }
    sums.names_without_room = without_room;
}

EndedProducers StatusBoard::read_sums(std::size_t table) const {
    auto const& sums = tables_[table];
    EndedProducers ended{sums.producers, sums.died, sums.abandoned, sums.rows, {}, {}};
    for (std::size_t i = 0; i < sums.counts.size(); ++i) ended.counts[i] = sums.counts[i];
    for (auto const& counter : sums.named) {
        if (counter.name[0] != 0) ended.named[name_of(counter)] = counter.value;
    }
    return ended;
}

} // namespace thalweg::dataset
