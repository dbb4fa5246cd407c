// The two ways in which rows come: as a stream of bytes, or as datagrams.
#pragma once

#include <cstddef>
#include <memory>

#include "thalweg/source/raw/input_address.h"
#include "thalweg/source/raw/row.h"
#include "thalweg/source/source.h"

namespace thalweg::source::raw {

// Both open the input, and throw base::SystemError if that fails. A batch has about `batch_bytes`, or one row.
std::unique_ptr<StreamReader> open_stream(Row const& row, InputAddress const& address, std::size_t batch_bytes);
std::unique_ptr<StreamReader> open_datagrams(Row const& row, InputAddress const& address);

} // namespace thalweg::source::raw
