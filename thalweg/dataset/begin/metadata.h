// Texts that are kept with a run, by key.
#pragma once

#include <map>
#include <string>

namespace thalweg::dataset {

using Metadata = std::map<std::string, std::string>;

// What files that continue each other say about each other (earlier_files.h).
inline constexpr char const* kPreviousFile = "previous_file";
inline constexpr char const* kPreviousRun = "previous_file_id";
inline constexpr char const* kNextFile = "next_file";
inline constexpr char const* kNextRun = "next_file_id";

// Throws base::UsageError if a caller may not give the run at `path` these: an empty key, texts that are no UTF-8 or
// hold a NUL character, which HDF5 would cut, and the keys above.
void check_given(std::string const& path, Metadata const& metadata);

} // namespace thalweg::dataset
