// What a run keeps free ahead of need, in proportion to the disk.
#pragma once

#include <cstdint>
#include <string>

#include "thalweg/dataset/commit/committer.h"
#include "thalweg/dataset/run/staging.h"
#include "thalweg/model/layout.h"

namespace thalweg::dataset {

// Lowers what is allocated ahead for pages and journal, and the memory of producers, whose content needs room twice
// when the disk is full, in the journal and in pages: all together at most about a quarter of `free_bytes`, which is
// what each of several nodes that share a disk may have of it.
void fit_to_disk(std::uint64_t free_bytes, CommitOptions& commit, StagingOptions& staging);

// Lowers what the pages of a table take together, of which every producer has several.
inline constexpr std::uint64_t kDiskOfPages = 64; // free bytes, for each byte of the pages of a table
void fit_to_disk(std::uint64_t free_bytes, model::LayoutOptions& layout);

// Leaves others half of what is free in /dev/shm, of which producers take their memory first. Where there is so little
// that it goes to a folder instead, nothing is lowered.
void fit_to_shared_memory(std::uint64_t free_bytes, StagingOptions& staging);

// The same as the first two for one of `nodes` on the disk that holds `path`; a disk that does not say how large it is
// counts as endless.
void fit_to_disk_of(std::string const& path, std::uint32_t nodes, CommitOptions& commit, StagingOptions& staging);
void fit_to_disk_of(std::string const& path, std::uint32_t nodes, model::LayoutOptions& layout);

} // namespace thalweg::dataset
