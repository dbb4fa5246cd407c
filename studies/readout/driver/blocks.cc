#include "studies/readout/driver/blocks.h"

#include <array>
#include <cstring>

#include "thalweg/base/units.h"
#include "thalweg/felix/packet.h"

namespace thalweg::study {

Blocks::Blocks(std::uint32_t elinks, felix::PacketSizes const& sizes, std::uint64_t size_bytes)
    : sizes_(sizes), memory_(size_bytes + base::kBlockBytes), // decoders may read beyond a block
      capacity_(size_bytes / format_.block_bytes) {
    auto const sink = [this](std::span<std::byte const> block) {
        if (count_ == capacity_) {
            spilled_.insert(spilled_.end(), block.begin(), block.end());
        } else {
            std::memcpy(memory_.data() + count_++ * format_.block_bytes, block.data(), block.size());
        }
    };
    for (std::uint32_t elink = 0; elink < elinks; ++elink) {
        writers_.emplace_back(format_, static_cast<std::uint16_t>(elink), sink);
    }
}

void Blocks::refill() {
    count_ = spilled_.size() / format_.block_bytes;
    std::memcpy(memory_.data(), spilled_.data(), spilled_.size());
    spilled_.clear();
    while (count_ < capacity_) write_event();
}

void Blocks::write_event() {
    std::array<std::byte, 4096> packet;
    auto const size_count = sizes_.max_bytes - sizes_.min_bytes + 1;
    for (std::size_t elink = 0; elink < writers_.size(); ++elink) {
        auto const bytes = std::span(packet).first(sizes_.min_bytes + random_() % size_count);
        felix::fill_packet(bytes, 0, {l1id_, static_cast<std::uint16_t>(elink), felix::bcid_of(l1id_)});
        writers_[elink].write(bytes);
        ++packets_;
    }
    ++l1id_;
}

} // namespace thalweg::study
