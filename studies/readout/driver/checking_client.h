// A collector that looks at every byte of what it gets, as a process.
#pragma once

#include <cstdint>
#include <vector>

#include "studies/readout/driver/child.h"
#include "thalweg/felix/packet.h"
#include "thalweg/readout/client/client.h"

namespace thalweg::study {

// Compares payloads of the emulated card with what it must have sent. Group g of source id g + 1 has e-links
// g * streams to (g + 1) * streams - 1.
class Checker {
  public:
    explicit Checker(std::uint32_t streams) : streams_(streams) {}

    void check(readout::Event const& event);
    std::uint64_t packets() const { return packets_; }
    std::uint64_t wrong() const { return wrong_; }           // fragments that are not what they say
    std::uint64_t incomplete() const { return incomplete_; } // fragments that say so

  private:
    bool is_right(std::span<std::byte const> payload, felix::PacketHead const& head);
    std::span<std::byte const> expected(std::size_t size_bytes, felix::PacketHead const& head);

    std::uint32_t streams_;
    // By e-link and by size: packets of mixed lengths must not make the collector the slowest of the chain.
    std::vector<std::vector<std::vector<std::byte>>> expected_;
    std::uint64_t packets_ = 0, wrong_ = 0, incomplete_ = 0;
};

// Until the stop sign, or the end of the run.
Json run_checking_client(readout::ClientOptions const& options, std::uint32_t streams, StopSign const& stop);

} // namespace thalweg::study
