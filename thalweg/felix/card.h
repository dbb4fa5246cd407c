// An emulated FELIX card: e-links whose packets carry event numbers, in blocks, in DMA buffers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/felix/block.h"
#include "thalweg/felix/faults.h"

namespace thalweg::felix {

// Payload sizes in bytes, the 8 bytes of PacketHead included: all of `min_bytes`, or even over [min_bytes, max_bytes].
struct PacketSizes {
    std::uint32_t min_bytes = 24;
    std::uint32_t max_bytes = 24;
};

// "24", "8-40", "752"; throws base::UsageError.
PacketSizes parse_packet_sizes(std::string_view text);

struct CardOptions {
    std::string name = "felix0";
    std::uint32_t elinks = 42; // numbered from first_elink on, shared out evenly and in order over the buffers
    std::uint32_t first_elink = 0;
    std::uint32_t buffers = 1;
    std::uint64_t buffer_bytes = 64 << 20;
    BlockFormat format;
    PacketSizes sizes;
    double event_rate_hz = 0;         // 0: as fast as it goes
    std::uint64_t events = 0;         // 0: until stop()
    std::uint32_t first_l1id = 0;     // ECR << 24 | L1ID of the first event
    std::uint64_t events_per_ecr = 0; // after so many the ECR goes up and the L1ID begins at 0; 0: only at 2^24
    std::uint32_t l1id_offset = 0;
    std::uint64_t timeout_ns = 10'000'000; // after so long a block is handed over half-filled; 0: never
    std::uint64_t seed = 1;
    FaultOptions faults;
};

// Throws base::UsageError that names the option.
void validate(CardOptions const& options);

// What was really sent: of one e-link. A right reader's counters can be derived from it.
struct LinkTally {
    std::uint16_t elink = 0;
    std::uint64_t events = 0;  // triggers that this link saw
    std::uint64_t packets = 0; // that a right reader hands on, flagged ones included
    std::uint64_t blocks = 0;  // written to the buffer
    FaultTally faults;
};

class Card {
  public:
    explicit Card(CardOptions const& options);
    ~Card();

    // Fills the buffers until stop(), or until `events` are sent; flushes partial blocks; says so in the buffers.
    // Sleeps where the rate or a full buffer asks for it. Once. A second thread beats.
    void run();
    void stop() { stop_ = true; }

    // From any thread.
    std::uint64_t events_sent() const;
    std::uint64_t stall_ns() const;
    std::uint64_t bytes_sent() const;    // blocks in all buffers, padding included
    std::uint64_t backlog_bytes() const; // of these not yet read
    // After run().
    std::vector<LinkTally> tally() const;

  private:
    struct State;
    CardOptions options_;
    std::atomic<bool> stop_ = false;
    std::unique_ptr<State> state_;
};

} // namespace thalweg::felix
