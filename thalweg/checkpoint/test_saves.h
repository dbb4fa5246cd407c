// Saves and restores of one rank, for tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "thalweg/checkpoint/restore.h"
#include "thalweg/checkpoint/save.h"
#include "thalweg/checkpoint/test_blocks.h"
#include "thalweg/storage/test_directory.h"

namespace thalweg::checkpoint {

inline std::vector<std::string> files_in(storage::TestDirectory const& directory) {
    std::vector<std::string> names;
    for (auto const& entry : std::filesystem::directory_iterator(directory.path(""))) {
        names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
}

using Files = std::vector<std::string>;
inline constexpr char kList[] = ".psi.h5.saved";

// An array of one axis whose elements are `value`.
inline SaveReport save_value(std::string const& path, double value, unsigned keep = 2, std::uint64_t count = 5000) {
    Values const values(count, value);
    auto const comm = alone();
    SaveOptions options;
    options.keep = keep;
    return save(path, {{"psi", model::Scalar::complex128, {count}, {{{{0}, {count}}, values.data()}}}}, *comm, options);
}

inline double value_of(State const& state) {
    Values one(1);
    state.read("psi", {{0}, {1}}, std::as_writable_bytes(std::span(one)));
    return one[0].real();
}

inline State restored(std::string const& path) {
    auto const comm = alone();
    return restore(path, *comm);
}

inline void flip_byte(std::string const& path, std::uint64_t offset) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    auto const byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
    ASSERT_TRUE(file.good());
}

} // namespace thalweg::checkpoint
