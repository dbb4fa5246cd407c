// Some rows of flat columns: a mask over rows says which, and lengths carry it into lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/model/page.h"

namespace thalweg::derive {

// Items that are chosen: stretches, ascending, of which no two touch.
using Chosen = std::vector<model::RowRange>;

// Bytes that are not 0 choose their row.
Chosen chosen_rows(std::span<std::byte const> mask);

std::uint64_t count_of(Chosen const& chosen);

// The elements of chosen lists: of items that have so many lengths each.
Chosen chosen_elements(Chosen const& items, std::span<std::uint64_t const> lengths, std::uint64_t lengths_per_item);

// Their bytes, one behind the other.
std::vector<std::byte> chosen_bytes(Chosen const& items, std::span<std::byte const> column, std::size_t item_bytes);

} // namespace thalweg::derive
