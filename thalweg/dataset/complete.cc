#include "thalweg/dataset/complete.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/memory.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/file_checksum.h"
#include "thalweg/dataset/intake.h"
#include "thalweg/dataset/ledger.h"
#include "thalweg/dataset/lock.h"
#include "thalweg/format/hdf5/format.h"

namespace thalweg::dataset {
namespace {

// The journal names the run, and so does the file: they must be the same.
void check_pair(storage::Storage const& file, model::RunHead const& head) {
    auto const id = format::hdf5::run_id_of(file);
    if (id && *id == head.id) return;
    base::fail_data(
        {fmt::format("{} and its journal do not belong together", file.path()),
         id ? "the file is of another run" : "the file was not written by Thalweg, or its beginning is damaged",
         "move one of the two away"});
}

// What producers had published when everything died is still in /dev/shm, unless the machine went down, too. Returns
// the end of what they had claimed.
std::uint64_t salvage(std::string const& path, model::RunHead const& head,
                      std::shared_ptr<storage::Storage> const& journal_file, std::vector<std::string>& notes) {
    std::unique_ptr<Ledger> ledger;
    try {
        ledger = Ledger::attach(ledger_name(head.id));
    } catch (base::Error const&) {
        return 0;
    }
    if (ledger->head().run_id != head.id) return 0;
    auto journal = JournalWriter::resume(journal_file);
    for (std::size_t slot = 0; slot < ledger->slots() && ledger->slot(slot).state != SlotState::free; ++slot) {
        auto const state = ledger->slot(slot).state.load();
        if (state != SlotState::active && state != SlotState::finished) continue;
        try {
            ProducerIntake producer(*ledger, head, slot, journal);
            producer.settle(journal, state == SlotState::active);
            ledger->slot(slot).state = SlotState::settled;
        } catch (base::Error const& error) {
            notes.push_back(fmt::format("{}: rows in the memory of producer {} could not be taken over: {}", path, slot,
                                        error.what()));
        }
    }
    journal.sync();
    return ledger->head().claimed;
}

} // namespace

format::Format const& format_for(std::string const& path) {
    auto const extension = std::filesystem::path(path).extension().string();
    constexpr std::array<char const*, 3> kHdf5{".h5", ".hdf5", ".lh5"};
    if (std::find(kHdf5.begin(), kHdf5.end(), extension) != kHdf5.end()) return format::hdf5::hdf5_format();
    base::fail_usage({fmt::format("'{}' is of no known format", path), "", "let its name end in .h5, .hdf5 or .lh5"});
}

CompleteResult complete_run(storage::Storage& file, std::shared_ptr<storage::Storage> const& journal,
                            format::Format const& format, CompleteOptions const& options) {
    CompleteResult result;
    result.path = file.path();
    auto const begin_ns = base::thread_cpu_ns();
    auto gathered = gather(*journal, file, options.check_pages);
    gathered.facts.end_offset =
        base::round_up(std::max({gathered.facts.end_offset, options.least_end, base::kBlockBytes}), base::kBlockBytes);
    auto const gathered_ns = base::thread_cpu_ns();
    result.file_bytes = format.complete(file, *journal, gathered.head, gathered.facts);
    result.gather_cpu_ns = gathered_ns - begin_ns;
    result.complete_cpu_ns = base::thread_cpu_ns() - gathered_ns;
    if (options.whole_file_checksum) result.adler32 = file_adler32(file, std::move(gathered.known));
    auto writer = JournalWriter::resume(journal);
    writer.append(RecordType::closed, {});
    writer.sync();
    result.report = std::move(gathered.report);
    return result;
}

void remove_journal(std::string const& data_path, std::string const& run_id) {
    auto const path = journal_path(data_path);
    if (::unlink(path.c_str()) != 0) base::fail_system({"cannot remove " + path}, errno);
    base::sync_directory_of(path);
    for (auto const& name : base::SharedMemory::list(ledger_name(run_id))) base::SharedMemory::unlink(name);
}

CompleteResult recover(std::string const& path) {
    auto const journal_file = journal_path(path);
    if (!std::filesystem::exists(journal_file)) {
        base::fail_usage({"there is nothing to recover at " + path, "there is no " + journal_file,
                          std::filesystem::exists(path) ? "the file is complete, or was never Thalweg's" : ""});
    }
    auto const lock = lock_exclusive(journal_file);
    std::shared_ptr<storage::Storage> const journal =
        storage::open_file_storage(journal_file, storage::OpenMode::read_write, storage::Engine::posix);
    auto const file = storage::open_file_storage(path, storage::OpenMode::read_write, storage::Engine::posix);
    auto const head = read_head(*journal);
    check_pair(*file, head);
    std::vector<std::string> notes;
    CompleteOptions options;
    options.least_end = salvage(path, head, journal, notes);
    auto result = complete_run(*file, journal, format_for(path), options);
    result.report.notes.insert(result.report.notes.end(), notes.begin(), notes.end());
    remove_journal(path, head.id);
    return result;
}

} // namespace thalweg::dataset
