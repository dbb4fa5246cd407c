// How records of pages lie in the journal: as differences, in about a third of the memory that they take on the ring.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "thalweg/dataset/journal/journal_format.h"

namespace thalweg::dataset {

// Returns the records of the bytes of an array of them.
std::vector<PageRecord> pages_in(std::span<std::byte const> bytes);

std::vector<std::byte> pack_pages(std::span<PageRecord const> pages);

// Returns none if the bytes are no such list.
std::optional<std::vector<PageRecord>> unpack_pages(std::span<std::byte const> bytes);

} // namespace thalweg::dataset
