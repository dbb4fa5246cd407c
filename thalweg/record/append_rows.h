// Appends rows, and waits while the disk is full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "thalweg/dataset/append/producer.h"

namespace thalweg::record {

// A full disk may have room again: an earlier file of the run is being completed, or its user frees some. Until then
// this waits, as long as `may_wait` says so; otherwise it throws the error, which says that the disk is full.
// `before_pause` is called before each pause. Throws what the producer throws.
void append_rows(
    dataset::Producer& producer, std::uint64_t rows, std::span<std::span<std::byte const> const> columns,
    std::function<bool()> const& may_wait, std::function<void()> const& before_pause = [] {});

} // namespace thalweg::record
