// What a run keeps free ahead of need, in proportion to the disk.
#pragma once

#include <cstdint>
#include <string>

#include "thalweg/dataset/commit/committer.h"
#include "thalweg/dataset/run/staging.h"

namespace thalweg::dataset {

// Lowers what is allocated ahead for pages and journal, and the memory of producers, whose content needs room twice
// when the disk is full, in the journal and in pages: all together at most about a quarter of `free_bytes`.
void fit_to_disk(std::uint64_t free_bytes, CommitOptions& commit, StagingOptions& staging);

// The same for the disk that holds `path`; one that does not say how large it is counts as endless.
void fit_to_disk_of(std::string const& path, CommitOptions& commit, StagingOptions& staging);

} // namespace thalweg::dataset
