#include "thalweg/dataset/run/run_memory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/process.h"
#include "thalweg/storage/probe.h"

namespace thalweg::dataset {
namespace {

constexpr char const* kFolderKey = "memory_folder";

std::string folder_of(std::string const& path) {
    return std::filesystem::absolute(path).lexically_normal().parent_path().string();
}

// Local, and what is allocated can be written whatever the others do: not so where blocks move on each write (btrfs,
// zfs), and a mapping that finds no block for that kills its process.
bool keeps_promises(std::string const& file_system) {
    constexpr std::array<char const*, 5> kLocal{"ext4", "xfs", "f2fs", "tmpfs", "overlayfs"};
    return std::ranges::find(kLocal, file_system) != kLocal.end();
}

std::string named_folder(std::string const& wanted) {
    auto const* const variable = std::getenv(kMemoryFolderVariable);
    std::string const named = !wanted.empty() ? wanted : variable != nullptr ? variable : "";
    if (named.empty()) return "";
    std::error_code ignored;
    auto folder = std::filesystem::absolute(named).lexically_normal().string();
    if (!std::filesystem::is_directory(folder, ignored)) {
        base::fail_usage({fmt::format("cannot keep memory of a run in {}", named), "there is no such folder",
                          fmt::format("make it, or let {} name another one", kMemoryFolderVariable)});
    }
    if (folder.size() >= sizeof LedgerHead::memory_folder)
        base::fail_usage({"cannot keep memory of a run in " + folder, "its path is too long", "name another one"});
    return folder;
}

base::MemoryFallback fallback_to(std::string folder, std::string const& path) {
    auto text = fmt::format("let {} name a folder with room on a local disk", kMemoryFolderVariable);
    if (folder.empty()) text += fmt::format(" (that of {} does not promise space to mapped files)", path);
    return {std::move(folder), text + ", or free some: `thalweg clean` lists what dead runs have left"};
}

std::vector<std::string> folders_of(RunPlace const& place, JournalFiles const& journal) {
    std::vector<std::string> folders{folder_of(place.data())};
    // Without a journal, or with one whose beginning is torn, the folder of the data remains.
    if (journal.main && journal.start()->kind == JournalKind::journal) folders.push_back(memory_folder_of(journal));
    return folders;
}

// There is a ledger, whole: its magic is written last.
bool is_begun(std::string const& ledger) {
    try {
        auto const memory = base::SharedMemory::attach(ledger);
        return memory.size() >= sizeof LedgerHead::magic && memory.data()[0] != std::byte{0};
    } catch (base::SystemError const& error) {
        if (error.code == ENOENT) return false;
        throw;
    }
}

std::unique_ptr<Ledger> ledger_at(std::string const& name, std::string const& run_id) {
    if (!is_begun(name)) return nullptr;
    auto ledger = Ledger::attach(name); // one of another version is not gone: that is an error
    // A folder outlives the machine's memory: what is in it from before a restart is not what was published last.
    if (ledger->head().run_id == run_id && ledger->head().boot_id == base::boot_id()) return ledger;
    return nullptr;
}

} // namespace

base::MemoryFallback memory_fallback(std::string const& path, std::string const& wanted) {
    auto folder = named_folder(wanted);
    if (folder.empty() && keeps_promises(storage::file_system_of(path))) folder = folder_of(path);
    return fallback_to(std::move(folder), path);
}

base::MemoryFallback memory_fallback_of(LedgerHead const& head) { return fallback_to(head.memory_folder, head.path); }

std::string add_memory_folder(std::string const& head_json, std::string const& folder) {
    if (folder.empty()) return head_json;
    auto json = nlohmann::ordered_json::parse(head_json);
    json[kFolderKey] = folder;
    return json.dump();
}

std::string memory_folder_of(JournalFiles const& journal) {
    auto const json = nlohmann::ordered_json::parse(journal.required_start()->head_json, nullptr, false);
    if (!json.is_object() || !json.contains(kFolderKey) || !json[kFolderKey].is_string()) return "";
    return json[kFolderKey].get<std::string>();
}

std::unique_ptr<Ledger> find_ledger(std::string const& run_id, RunPlace const& place, JournalFiles const& journal) {
    auto const name = ledger_name(run_id, place.node().node);
    if (auto ledger = ledger_at(name, run_id)) return ledger;
    for (auto const& folder : folders_of(place, journal)) {
        if (folder.empty()) continue;
        if (auto ledger = ledger_at(base::name_in_folder(folder, name), run_id)) return ledger;
    }
    return nullptr;
}

void remove_memory(std::string const& run_id, std::vector<std::string> const& folders, std::uint32_t node) {
    auto const name = ledger_name(run_id, node);
    std::vector<std::string> ledgers{name};
    for (auto const& folder : folders) {
        if (!folder.empty()) ledgers.push_back(base::name_in_folder(folder, name));
    }
    for (auto const& ledger : ledgers) {
        for (auto const& part : base::SharedMemory::list(ledger + "-")) base::SharedMemory::unlink(part);
    }
    for (auto const& ledger : ledgers) base::SharedMemory::unlink(ledger); // last: without it the others are not found
}

std::uint64_t device_of_directory(std::string const& path) {
    std::filesystem::path above = path;
    std::optional<base::FileIdentity> found;
    do {
        above = above.parent_path();
        found = base::identity_of(above.empty() ? "." : above.string());
    } while (!found && above.has_relative_path());
    return found ? found->device : 0;
}

void remove_memory_of(std::string const& run_id, RunPlace const& place, JournalFiles const& journal) {
    remove_memory(run_id, folders_of(place, journal), place.node().node);
}

} // namespace thalweg::dataset
