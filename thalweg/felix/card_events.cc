#include "thalweg/felix/card_events.h"

namespace thalweg::felix {
namespace {

constexpr std::uint32_t kSizePurpose = 100;

// This is the finaliser of splitmix64.
std::uint64_t mix(std::uint64_t word) {
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9;
    word = (word ^ word >> 27) * 0x94D049BB133111EB;
    return word ^ word >> 31;
}

} // namespace

std::uint64_t draw(std::uint64_t seed, std::uint32_t purpose, std::uint32_t elink, std::uint64_t count) {
    auto const stream = mix(seed + 0x9E3779B97F4A7C15 * (static_cast<std::uint64_t>(purpose) << 32 | elink));
    return mix(stream + 0x9E3779B97F4A7C15 * (count + 1));
}

double draw_fraction(std::uint64_t seed, std::uint32_t purpose, std::uint32_t elink, std::uint64_t count) {
    return static_cast<double>(draw(seed, purpose, elink, count) >> 11) * 0x1p-53;
}

CardEvents::CardEvents(CardOptions const& options)
    : first_(options.first_l1id & 0xFFFFFF), first_ecr_(options.first_l1id >> 24),
      events_per_ecr_(options.events_per_ecr == 0 ? kEventsOfEcr : options.events_per_ecr), sizes_(options.sizes),
      l1id_offset_(options.l1id_offset), seed_(options.seed) {}

std::uint32_t CardEvents::size_bytes_of(std::uint16_t elink, std::uint64_t event) const {
    auto const range = sizes_.max_bytes - sizes_.min_bytes + 1;
    if (range == 1) return sizes_.min_bytes;
    return sizes_.min_bytes + static_cast<std::uint32_t>(draw(seed_, kSizePurpose, elink, event % kSizeCycle) % range);
}

std::span<std::byte const> CardEvents::packet_of(std::uint16_t elink, std::uint64_t event,
                                                 std::span<std::byte> room) const {
    auto const packet = room.first(size_bytes_of(elink, event));
    auto const l1id = l1id_of(event);
    fill_packet(packet, l1id_offset_, {l1id, elink, bcid_of(l1id)});
    return packet;
}

} // namespace thalweg::felix
