// The packets of an emulated card as pure functions of the options, the e-link and the event, so that all ways of
// sending agree.
#pragma once

#include <cstdint>
#include <span>

#include "thalweg/felix/card.h"
#include "thalweg/felix/packet.h"

namespace thalweg::felix {

inline constexpr std::uint64_t kSizeCycle = 256; // packet sizes repeat after so many events
inline constexpr std::uint64_t kEventsOfEcr = 1u << 24;

// Returns well-mixed bits of seed, purpose, e-link and count.
std::uint64_t draw(std::uint64_t seed, std::uint32_t purpose, std::uint32_t elink, std::uint64_t count);
// Returns the same as a number in [0, 1).
double draw_fraction(std::uint64_t seed, std::uint32_t purpose, std::uint32_t elink, std::uint64_t count);

class CardEvents {
  public:
    explicit CardEvents(CardOptions const& options);

    // Events count from 0.
    std::uint32_t l1id_of(std::uint64_t event) const {
        auto const count = first_ + event;
        return static_cast<std::uint32_t>((first_ecr_ + count / events_per_ecr_) << 24 | count % events_per_ecr_);
    }
    // Returns how many events, including this one, have consecutive L1IDs.
    std::uint64_t until_ecr(std::uint64_t event) const { return events_per_ecr_ - (first_ + event) % events_per_ecr_; }
    std::uint32_t size_bytes_of(std::uint16_t elink, std::uint64_t event) const;
    // Writes the packet into `room`, which has at least the largest size.
    std::span<std::byte const> packet_of(std::uint16_t elink, std::uint64_t event, std::span<std::byte> room) const;

    std::uint64_t size_cycle() const { return sizes_.min_bytes == sizes_.max_bytes ? 1 : kSizeCycle; }

  private:
    std::uint64_t first_;
    std::uint64_t first_ecr_;
    std::uint64_t events_per_ecr_;
    PacketSizes sizes_;
    std::uint32_t l1id_offset_;
    std::uint64_t seed_;
};

} // namespace thalweg::felix
