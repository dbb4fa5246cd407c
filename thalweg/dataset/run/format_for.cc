#include "thalweg/dataset/run/format_for.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <span>

#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/files/format.h"
#include "thalweg/format/rntuple/format.h"

namespace thalweg::dataset {
namespace {

// Returns nothing if no format has names that end like this one.
format::Format const* format_of_name(std::string const& path) {
    auto const extension = std::filesystem::path(path).extension().string();
    constexpr std::array<char const*, 3> kHdf5{".h5", ".hdf5", ".lh5"};
    if (std::find(kHdf5.begin(), kHdf5.end(), extension) != kHdf5.end()) return &format::hdf5::files::hdf5_format();
    return extension == ".root" ? &format::rntuple::rntuple_format() : nullptr;
}

} // namespace

format::Format const& format_for(std::string const& path) {
    if (auto const* format = format_of_name(path)) return *format;
    base::fail_usage({fmt::format("'{}' is of no known format", path),
                      "known are HDF5 and ROOT RNTuple; `thalweg record --source replay` takes CoMPASS files (.BIN)",
                      "let its name end in .h5, .hdf5, .lh5 or .root"});
}

format::Format const& format_of(storage::Storage const& file) {
    constexpr std::array<char, 4> kRoot{'r', 'o', 'o', 't'};
    std::array<char, 4> begin{};
    if (file.size() >= begin.size()) file.read(0, std::as_writable_bytes(std::span(begin)));
    if (begin == kRoot) return format::rntuple::rntuple_format();
    if (format::hdf5::files::is_hdf5(file)) return format::hdf5::files::hdf5_format();
    if (auto const* format = format_of_name(file.path())) return *format;
    base::fail_usage(
        {fmt::format("'{}' is of no known format", file.path()),
         "neither an HDF5 file nor a ROOT file, which has RNTuples or TTrees, begins like it; `thalweg record "
         "--source replay` takes CoMPASS files (.BIN)"});
}

} // namespace thalweg::dataset
