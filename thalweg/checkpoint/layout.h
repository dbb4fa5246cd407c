// Chooses how an array lies in the file, from its blocks alone.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "thalweg/checkpoint/cover.h"

namespace thalweg::checkpoint {

enum class Layout : std::uint8_t {
    contiguous, // slabs of the first axis, one behind the other
    chunked,    // a regular grid of blocks, each one chunk or several
    separate,   // a dataset for each block, under a virtual one
};

struct ArrayPlan {
    std::string name;
    model::Scalar scalar = model::Scalar::complex128;
    PerAxis shape;
    std::string codec;
    Layout layout = Layout::separate;
    PerAxis chunk;          // of a regular grid
    std::uint64_t base = 0; // of a contiguous array: the offset of its first element

    std::uint64_t element_bytes() const { return model::size_bytes(scalar); }
    std::uint64_t bytes() const { return count_of(shape) * element_bytes(); }
};

// Chooses layout and chunk for blocks that are the whole array.
void choose_layout(ArrayPlan& plan, std::vector<OwnedBox> const& boxes);

// Returns the dataset that a block becomes, or is a part of, with its pages. Pages of a contiguous array have offsets
// already.
ArrayPart part_of(ArrayPlan const& plan, Box const& box);

void to_json(nlohmann::json& json, ArrayPlan const& plan);
void from_json(nlohmann::json const& json, ArrayPlan& plan);

} // namespace thalweg::checkpoint
