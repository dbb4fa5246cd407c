// Which fields of a table hold samples and times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "thalweg/model/column.h"

namespace thalweg::features {

std::optional<std::size_t> place_of(std::vector<model::Field> const& fields, std::string_view name);

// Returns the field of the samples themselves: `values` of a struct, or the field itself. Null: there is none.
model::Field const* values_of(model::Field const& waveform);

// Returns whether each row has integers of 16 bits: an array of one dimension, or a list.
bool holds_samples(model::Field const& values);

// Makes the samples of a waveform a list.
void make_list(model::Field& waveform);

// Returns whether a column of a struct is a real number with the unit ns, or without a unit.
bool is_time_in_ns(model::Table const& table, model::Column const& column);

// Returns the picoseconds of a unit of time, or 0 if it is none.
std::uint64_t ps_of_unit(std::string_view unit);

} // namespace thalweg::features
