// The options of a group, and the context that its parts share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "thalweg/felix/block.h"
#include "thalweg/readout/builder/event_ring.h"
#include "thalweg/readout/builder/hooks.h"
#include "thalweg/readout/config.h"

namespace thalweg::readout {

// The groups of one handler share what they know: a silent link is dead only if other links go on.
struct HandlerActivity {
    std::atomic<std::uint64_t> newest_event = 0;
    std::atomic<std::uint64_t> first_data_ns = 0;

    void saw(std::uint64_t event) {
        for (auto seen = newest_event.load(); seen < event && !newest_event.compare_exchange_weak(seen, event);) {
        }
    }
    void began(std::uint64_t now_ns) {
        std::uint64_t unset = 0;
        first_data_ns.compare_exchange_strong(unset, now_ns);
    }
};

struct GroupOptions {
    GroupConfig group;
    TriggerConfig trigger;
    IndexConfig index;
    felix::BlockFormat format;
    std::uint32_t run = 1;
    std::uint64_t newest_event = 0; // the newest event of the previous reader; 0: there was none
    std::uint64_t closed_event = 0; // every event before this one was closed by the previous reader; 0: there was none
    std::shared_ptr<HandlerActivity> activity = std::make_shared<HandlerActivity>();
    std::shared_ptr<HookLibrary> hook = nullptr;
};

struct GroupContext {
    explicit GroupContext(GroupOptions group_options);

    GroupOptions options;
    bool slices; // triggerless
    EventRing ring;
    std::uint64_t now_ns; // time of the last tick
};

} // namespace thalweg::readout
