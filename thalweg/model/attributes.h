// Attributes of a run, a group, a table or a field: what describes it beside its type, unit and description.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/model/scalar.h"

namespace thalweg::model {

struct Attribute {
    std::string name = {};
    std::optional<Scalar> scalar = {};     // none: texts
    std::vector<std::uint64_t> shape = {}; // empty: a single value
    std::vector<std::byte> values = {};    // of a scalar, as they lie in memory
    std::vector<std::string> texts = {};   // UTF-8

    bool operator==(Attribute const&) const = default;
    std::uint64_t count() const; // of its values
};

using Attributes = std::vector<Attribute>; // ascending by name

// More than that is data, and belongs into a table.
constexpr std::uint64_t kMaxAttributeBytes = 1 << 20;

// Empty where it can: else an empty name, values that do not fit the shape, texts that are no UTF-8 or hold a NUL, more
// bytes than kMaxAttributeBytes.
std::string why_it_cannot_be_kept(Attribute const& attribute);

// Throws base::UsageError naming the attribute of `where` that cannot be kept, or whose name repeats.
void check_attributes(std::string const& where, Attributes const& attributes);

} // namespace thalweg::model
