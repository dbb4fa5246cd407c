// Finds the credit that keeps a network busy and its queues short: twice the product of the largest goodput and the
// shortest delay that were seen lately (as the congestion control BBR does). While the network is not full, goodput
// rises with the credit, so the credit doubles until goodput rises no more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace thalweg::readout {

class CreditFinder {
  public:
    static constexpr std::uint64_t kLeastBytes = 32 << 10;

    explicit CreditFinder(std::uint64_t most_bytes);

    std::uint64_t credit_bytes() const { return credit_bytes_; }
    // A request waits for credit: so it is the credit that limits the goodput.
    void wants_more() { is_limited_ = true; }
    // An answer of so many bytes has come, for a request that was sent at `sent_ns`.
    void answered(std::uint64_t bytes, std::uint64_t sent_ns, std::uint64_t now_ns);

  private:
    void end_round(std::uint64_t now_ns);
    void find_delay_anew(std::uint64_t now_ns);

    static constexpr std::size_t kRounds = 10; // for which the largest goodput counts

    std::uint64_t most_bytes_;
    std::uint64_t credit_bytes_;
    bool is_limited_ = false;

    std::uint64_t round_began_ns_ = 0;
    std::uint64_t round_bytes_ = 0;
    std::uint64_t round_answers_ = 0;
    std::uint64_t largest_answer_bytes_ = 0; // of the round before, and of this one
    std::uint64_t largest_of_round_bytes_ = 0;

    std::array<double, kRounds> goodputs_ = {}; // bytes per ns
    std::size_t next_goodput_ = 0;
    std::uint64_t shortest_ns_ = ~0ull;
    std::uint64_t shortest_since_ns_ = 0;
    bool empties_queues_ = false; // a round with the least credit, for the delay without a queue
};

} // namespace thalweg::readout
