// The memory in which a run keeps what its producers have published and not written yet, and how it is found again.
//
// /dev/shm is the first choice. Where it has no room, there is a folder: files of the same names, mapped into memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/memory.h"
#include "thalweg/dataset/run/ledger.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {

// The environment variable that names the folder.
inline constexpr char const* kMemoryFolderVariable = "THALWEG_MEMORY_FOLDER";

// The folder for the run at `path` (absolute): `wanted`, else the one that the environment names, else that of the
// data, where its file system lets processes share mapped files whose space is promised. Throws base::UsageError where
// a folder that was named is not there.
base::MemoryFallback memory_fallback(std::string const& path, std::string const& wanted = "");

// The same for a node that joins that run: the folder is its creator's, whatever the environment says here.
base::MemoryFallback memory_fallback_of(LedgerHead const& head);

// The head of a journal with the folder, and what it says there: a process that recovers the run may have another
// environment.
std::string add_memory_folder(std::string const& head_json, std::string const& folder);
std::string memory_folder_of(JournalFiles const& journal);

// Returns the ledger of the open or unfinished run that has this journal (if any) at this place; nothing if it is gone,
// as after a restart of the machine.
std::unique_ptr<Ledger> find_ledger(std::string const& run_id, RunPlace const& place, JournalFiles const& journal);

// All memory of a run, of one node of it, in /dev/shm and in these folders (where one is empty, it is none).
void remove_memory(std::string const& run_id, std::vector<std::string> const& folders, std::uint32_t node = 0);

// The same in all folders in which that of the run at this place may be.
void remove_memory_of(std::string const& run_id, RunPlace const& place, JournalFiles const& journal);

// Returns the identity of the nearest folder above `path` that is there: the same after the folder was removed, another
// one where its file system is not mounted.
std::uint64_t device_of_directory(std::string const& path);

} // namespace thalweg::dataset
