// Names of types for fields of the model, as ROOT's normalisation spells them. For this folder's own .cc files.
#pragma once

#include <string>

#include "thalweg/model/schema.h"

namespace thalweg::format::rntuple {

// A field together with the names of C++ that hold where it stands.
struct NamedField {
    model::Field const* field;
    std::string given;      // by the user, for the field without its shape; empty: none was given
    std::string class_name; // for a struct, if none was given

    NamedField element() const; // of a list
    NamedField member(std::size_t index) const;
};

NamedField top_level(model::Table const& table, std::size_t index);

// Returns the type of one item, without `dimensions` of its shape: "float", "std::vector<Hit>", "std::array<float,3>".
std::string type_name_of(NamedField const& named, std::size_t dimensions);

} // namespace thalweg::format::rntuple
