// The objects that the links of a group lead to.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "thalweg/format/hdf5/handles.h"
#include "thalweg/model/run.h"

namespace thalweg::format::hdf5 {

// The identity of an object, whatever its names are.
struct ObjectId {
    unsigned long file = 0;
    haddr_t address = 0;

    auto operator<=>(ObjectId const&) const = default; // NOLINT(modernize-use-nullptr): there is none
};

struct Child {
    std::string name;
    bool is_group = false;
    bool is_soft = false; // found by a soft link, which leads to where the object has another name
    ObjectId id;
};

struct Children {
    std::vector<Child> found; // groups and datasets, sorted by name; named types hold no values
    std::vector<model::LeftOut> left_out;
};

// Follows hard and soft links, but never into another file. `path` is "" for the root. What is `known`, by its whole
// path, is neither opened nor told.
Children children_of(FileHandle const& file, std::string const& path, std::set<std::string> const& known = {});

struct ObjectFacts {
    ObjectId id;
    bool is_group = false;
    std::uint64_t attributes = 0;
    bool is_named_type = false;
};

// Without opening the object: damaged metadata of a virtual dataset, once opened, can keep libhdf5 busy without an end.
ObjectFacts facts_of(FileHandle const& file, std::string const& path);

// Returns what went wrong with an object, without its name, which the caller says.
std::string why_of(std::string message, std::string const& path);

} // namespace thalweg::format::hdf5
