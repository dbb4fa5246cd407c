// The plan of a file: its datasets and pages, worked out before libhdf5 is called at all.
#pragma once

#include "thalweg/format/hdf5/dataset.h"

namespace thalweg::format::hdf5::ours {

// Items of another dataset, seen from item `at` on.
struct Mapping {
    std::string source;
    std::uint64_t source_items = 0; // that the whole source has
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint64_t at = 0;
};

// A dataset that holds nothing itself: it shows items of others, one after the other.
struct VirtualDataset {
    std::string path;
    model::Scalar scalar = model::Scalar::float64;
    std::vector<std::uint64_t> shape;
    std::uint64_t items = 0;
    std::vector<Mapping> mappings;
};

struct FilePlan {
    std::vector<Dataset> datasets;
    std::vector<VirtualDataset> virtual_datasets;
};

} // namespace thalweg::format::hdf5::ours
