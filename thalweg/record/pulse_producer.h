// Appends rows of a device with the features of their pulses, which it makes of their samples.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/base/shared_number.h"
#include "thalweg/dataset/append/producer.h"
#include "thalweg/features/feature_rows.h"

namespace thalweg::record {

class PulseProducer {
  public:
    // `table`: of the rows of the device; that of the producer has their features, too. The producer must live longer.
    // Throws base::UsageError if the rows cannot have features.
    PulseProducer(dataset::Producer& producer, model::Table const& table, features::FeatureRowOptions const& options);

    // The columns of the device.
    std::vector<model::Column> const& columns() const { return columns_; }

    // Appends rows of the device, and waits while the disk is full. Throws base::UsageError if their sizes are not
    // those of the table, base::DataError if they cannot have features, and what the producer throws.
    void append(std::uint64_t rows, std::span<std::span<std::byte const> const> columns);

    // From any thread: the rows so far.
    features::FlagCounts counts() const { return {saturated_.get(), piled_up_.get(), without_pulse_.get()}; }
    // From any thread: a full disk is an error from now on.
    void wait_for_no_room() { waits_for_room_ = false; }

  private:
    void check_sizes(std::uint64_t rows, std::span<std::span<std::byte const> const> columns) const;

    dataset::Producer& producer_;
    std::vector<model::Column> columns_;
    features::FeatureRows rows_;
    base::SharedNumber saturated_, piled_up_, without_pulse_;
    std::atomic<bool> waits_for_room_ = true;
};

} // namespace thalweg::record
