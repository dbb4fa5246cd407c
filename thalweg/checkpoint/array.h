// Arrays that are spread over ranks: the blocks of each rank, and their places in a file.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "thalweg/model/scalar.h"

namespace thalweg::checkpoint {

using PerAxis = std::vector<std::uint64_t>;

struct Box {
    PerAxis start;
    PerAxis shape;

    bool operator==(Box const&) const = default;
    std::uint64_t count() const; // of elements; 1 if there are no axes
    std::uint64_t end(std::size_t axis) const { return start[axis] + shape[axis]; }
    std::string text() const; // "(4, 0) to (8, 16)"
};

std::uint64_t count_of(PerAxis const& shape);
std::string text_of(PerAxis const& extents); // "(8, 16)"

// A part of an array, in the memory of this rank.
struct Block {
    Box box = {};
    void const* data = nullptr;             // its first element
    std::vector<std::int64_t> strides = {}; // from one index to the next, in bytes, a number for each axis; empty: the
                                            // elements lie in C order, without gaps
};

// An array as one rank has it. All ranks name the same arrays, with the same shape, scalar and codec.
struct Array {
    std::string name = {}; // slashes nest
    model::Scalar scalar = model::Scalar::complex128;
    PerAxis shape = {};             // of the whole array
    std::vector<Block> blocks = {}; // none, one or many; a block may be empty
    std::string codec = "none";
};

// A page of an array in the file: a chunk, or a part of a contiguous dataset. Its bytes are the elements of `box` in C
// order, padded to a whole chunk if there are chunks.
struct ArrayPage {
    Box box;
    std::uint64_t offset = 0;
    std::uint64_t stored_bytes = 0;
    bool encoded = false;
    std::vector<std::uint64_t> checksums; // of its pieces (pieces.h)
};

// One dataset of the file: an array, or a part of a virtual one.
struct ArrayPart {
    Box box;
    PerAxis chunk; // empty: contiguous
    std::vector<ArrayPage> pages;
};

// An array in a file: one dataset, or a virtual one over one for each block.
struct StoredArray {
    std::string name;
    model::Scalar scalar = model::Scalar::complex128;
    PerAxis shape;
    std::string codec;
    bool is_virtual = false;
    std::vector<ArrayPart> parts;

    // Returns the shape of the elements of a page, as they lie there.
    PerAxis page_shape(ArrayPart const& part, ArrayPage const& page) const {
        return part.chunk.empty() ? page.box.shape : part.chunk;
    }
    std::uint64_t page_bytes(ArrayPart const& part, ArrayPage const& page) const {
        return count_of(page_shape(part, page)) * model::size_bytes(scalar);
    }
};

// As JSON: [start..., shape...] for a box; checksums are left out.
void to_json(nlohmann::json& json, Box const& box);
void from_json(nlohmann::json const& json, Box& box);
void to_json(nlohmann::json& json, ArrayPage const& page);
void from_json(nlohmann::json const& json, ArrayPage& page);
void to_json(nlohmann::json& json, ArrayPart const& part);
void from_json(nlohmann::json const& json, ArrayPart& part);
void to_json(nlohmann::json& json, StoredArray const& array);
void from_json(nlohmann::json const& json, StoredArray& array);

} // namespace thalweg::checkpoint
