// The group /thalweg: what Thalweg itself reads of a file, in few large pieces instead of many small ones.
#pragma once

#include <optional>

#include "thalweg/format/hdf5/appender.h"
#include "thalweg/format/hdf5/claiming_file.h"
#include "thalweg/format/hdf5/plan.h"
#include "thalweg/model/run.h"

namespace thalweg::format::hdf5 {

inline constexpr std::uint64_t kFormatVersion = 1;

// The datasets of the page table, their pages appended: for every page of the plan, in its order, where it lies.
std::vector<Dataset> plan_page_table(FilePlan const& plan, Appender& appender);

// Attributes of /thalweg: the head of the run, its metadata, and which datasets the page table is about.
void write_run_attributes(FilePlan const& plan, model::RunHead const& head,
                          std::map<std::string, std::string> const& metadata, FileHandle const& handle);

// None where the file was not written by Thalweg.
std::optional<model::RunHead> read_run_head(FileHandle const& handle);
std::map<std::string, std::string> read_metadata(FileHandle const& handle);

// Datasets by their path: `path`, `items` and `pages` of each. None where the file has no page table.
std::optional<std::map<std::string, Dataset>> read_page_table(FileHandle const& handle);

} // namespace thalweg::format::hdf5
