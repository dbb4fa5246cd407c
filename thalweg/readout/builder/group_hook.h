// Calls the hook of one group, if there is one, and counts what failed.
#pragma once

#include <cstdint>
#include <memory>

#include "thalweg/base/shared_number.h"
#include "thalweg/felix/decoder.h"
#include "thalweg/readout/builder/group_options.h"
#include "thalweg/readout/builder/packet_key.h"
#include "thalweg/readout/fragment.h"

namespace thalweg::readout {

class GroupHook {
  public:
    explicit GroupHook(GroupOptions const& options);

    bool is_there() const { return hook_ != nullptr; }
    // Returns false if the packet has no trigger information.
    bool read_key(felix::Packet const& packet, std::uint16_t elink, PacketKey& key, bool& damaged);
    // Rewrites the payloads of a finished fragment.
    void rewrite(FragmentHeader* fragment);

    std::uint64_t failures() const { return failures_.get(); }
    std::uint64_t overruns() const { return overruns_.get(); }

  private:
    TriggerConfig trigger_;
    std::uint32_t fragment_bytes_;
    std::unique_ptr<Hook> hook_;
    base::SharedNumber failures_, overruns_;
};

} // namespace thalweg::readout
