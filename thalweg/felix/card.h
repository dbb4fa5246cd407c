// An emulated FELIX card: e-links send packets with event numbers, in blocks, into DMA buffers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/felix/block.h"
#include "thalweg/felix/faults.h"

namespace thalweg::felix {

// Payload sizes in bytes, including the 8 bytes of PacketHead: all `min_bytes`, or uniformly distributed over
// [min_bytes, max_bytes].
struct PacketSizes {
    std::uint32_t min_bytes = 24;
    std::uint32_t max_bytes = 24;
};

// Parses "24", "8-40" or "752"; throws base::UsageError for anything else.
PacketSizes parse_packet_sizes(std::string_view text);

struct CardOptions {
    std::string name = "felix0";
    std::uint32_t elinks = 42; // numbered from first_elink on, distributed evenly and in order over the buffers
    std::uint32_t first_elink = 0;
    std::uint32_t buffers = 1;
    std::uint64_t buffer_bytes = 64 << 20;
    BlockFormat format;
    PacketSizes sizes;
    double event_rate_hz = 0;     // 0: as fast as possible
    std::uint64_t events = 0;     // 0: until stop()
    std::uint32_t first_l1id = 0; // ECR << 24 | L1ID of the first event
    // After so many events the ECR increases and the L1ID starts at 0; 0: only at 2^24.
    std::uint64_t events_per_ecr = 0;
    std::uint32_t l1id_offset = 0;
    std::uint64_t timeout_ns = 10'000'000; // a block that is not full is handed over after so long; 0: never
    std::uint64_t seed = 1;
    FaultOptions faults;
};

// Throws base::UsageError, which names the option.
void validate(CardOptions const& options);

// The packets that were really sent over one e-link. The counters of a correct reader can be derived from it.
struct LinkTally {
    std::uint16_t elink = 0;
    std::uint64_t events = 0;  // triggers that this link got
    std::uint64_t packets = 0; // packets that a correct reader hands on, including flagged ones
    std::uint64_t blocks = 0;  // blocks written to the buffer
    FaultTally faults;
};

class Card {
  public:
    explicit Card(CardOptions const& options);
    ~Card();

    // Fills the buffers until stop(), or until `events` are sent, flushes partial blocks, and notes the end in the
    // buffers. Sleeps if the rate or a full buffer requires it. Call it once. A second thread updates the heartbeat.
    void run();
    void stop() { stop_ = true; }

    // These may be called from any thread.
    std::uint64_t events_sent() const;
    std::uint64_t stall_ns() const;
    std::uint64_t bytes_sent() const;    // blocks in all buffers, including padding
    std::uint64_t backlog_bytes() const; // bytes of these that were not read yet
    // Returns the tally of every link. Call it after run().
    std::vector<LinkTally> tally() const;

  private:
    struct State;
    CardOptions options_;
    std::atomic<bool> stop_ = false;
    std::unique_ptr<State> state_;
};

} // namespace thalweg::felix
