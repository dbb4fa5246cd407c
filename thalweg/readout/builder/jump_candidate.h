// A jump of the event number that some streams have made. It is accepted when most streams have made it.
#pragma once

#include <array>
#include <cstdint>

#include "thalweg/readout/builder/open_stretch.h"
#include "thalweg/readout/config.h"
#include "thalweg/readout/fragment.h"

namespace thalweg::readout {

class JumpCandidate {
  public:
    // The packets that one stream has put into it.
    struct Share {
        std::uint64_t delivered = 0;
        std::uint64_t duplicates = 0;
        std::uint64_t progress = 0; // position of its newest packet, plus 1

        std::uint64_t packets() const { return delivered + duplicates; }
    };
    enum class Verdict : std::uint8_t { open, accepted, rejected };

    // `newest_position` belongs to the stretch that the jump would leave.
    JumpCandidate(OpenStretch const& stretch, std::uint64_t newest_position, std::uint64_t now_ns)
        : stretch_(stretch), since_ns_(now_ns), since_position_(newest_position) {}

    OpenStretch& stretch() { return stretch_; }
    OpenStretch const& stretch() const { return stretch_; }
    Share const& share_of(std::size_t stream) const { return shares_[stream]; }

    void note(std::size_t stream, bool duplicate, std::uint64_t position);
    // Rejects the jump if the other streams go on for a while. `finishing`: no more packets will come.
    Verdict judge(std::uint64_t live_map, std::uint64_t newest_position, std::uint64_t now_ns, IndexConfig const& index,
                  bool finishing) const;

  private:
    std::uint64_t packets_of_all() const;

    OpenStretch stretch_;
    std::uint64_t since_ns_;
    std::uint64_t since_position_; // position of the newest event at that time
    std::uint64_t streams_ = 0;
    std::uint64_t packets_ = 0;
    std::array<Share, kMaxStreams> shares_ = {};
};

} // namespace thalweg::readout
