// A collector that checks every byte, as a process.
#pragma once

#include <cstdint>
#include <vector>

#include "studies/readout/driver/child.h"
#include "thalweg/felix/packet.h"
#include "thalweg/readout/client/client.h"

namespace thalweg::study {

// Compares payloads with what the emulated card must have sent. Group g with source id g + 1 has e-links g * streams to
// (g + 1) * streams - 1.
class Checker {
  public:
    explicit Checker(std::uint32_t streams) : streams_(streams) {}

    void check(readout::Event const& event);
    std::uint64_t packets() const { return packets_; }
    std::uint64_t wrong() const { return wrong_; }           // fragments that are not what they should be
    std::uint64_t incomplete() const { return incomplete_; } // fragments that report it themselves

  private:
    bool is_right(std::span<std::byte const> payload, felix::PacketHead const& head);
    std::span<std::byte const> expected(std::size_t size_bytes, felix::PacketHead const& head);

    std::uint32_t streams_;
    // By e-link and by size: packets of mixed lengths must not make the collector the slowest part.
    std::vector<std::vector<std::vector<std::byte>>> expected_;
    std::uint64_t packets_ = 0, wrong_ = 0, incomplete_ = 0;
};

// Runs until the stop sign, or the end of the run.
Json run_checking_client(readout::ClientOptions const& options, std::uint32_t streams, StopSign const& stop);

} // namespace thalweg::study
