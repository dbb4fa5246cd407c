// Collects events as rows of table "events": one buffer per column, in the order of model::flatten(schema_of_events()).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/readout/client/client.h"

namespace thalweg::record {

class EventRows {
  public:
    static constexpr std::size_t kColumns = 15;

    void add(readout::Event const& event);
    void clear();

    std::uint64_t rows() const { return run_.size(); }
    std::uint64_t data_bytes() const { return data_.size(); }
    std::array<std::span<std::byte const>, kColumns> columns() const;
    // Returns, for every column, the number of items that were ever added, including cleared ones.
    std::vector<std::uint64_t> items() const;

  private:
    std::vector<std::uint32_t> run_;
    std::vector<std::uint64_t> event_;
    std::vector<std::uint32_t> l1id_;
    std::vector<std::uint16_t> bcid_;
    std::vector<std::uint32_t> trigger_type_;
    std::vector<std::uint8_t> state_;
    std::vector<std::uint32_t> status_;
    std::vector<float> latency_us_;
    std::vector<std::uint64_t> fragments_; // lengths
    // The next columns have one item per fragment.
    std::vector<std::uint32_t> source_id_;
    std::vector<std::uint32_t> fragment_status_;
    std::vector<std::uint64_t> stream_map_;
    std::vector<std::uint32_t> build_us_;
    std::vector<std::uint64_t> data_lengths_;
    std::vector<std::byte> data_;

    std::uint64_t cleared_rows_ = 0;
    std::uint64_t cleared_fragments_ = 0;
    std::uint64_t cleared_bytes_ = 0;
};

} // namespace thalweg::record
