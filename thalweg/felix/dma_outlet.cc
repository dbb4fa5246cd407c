#include "thalweg/felix/dma_outlet.h"

#include <chrono>
#include <thread>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"

namespace thalweg::felix {
namespace {

constexpr std::chrono::microseconds kPause{30};
constexpr std::uint64_t kPatienceNs = 300'000'000; // at a stop, if the reader does not read

} // namespace

DmaWriter::FreeBlocks DmaOutlet::wait_for_room() {
    auto room = writer_.room();
    if (room.blocks > 0 || gave_up_) return room;
    auto last_ns = base::monotonic_ns();
    std::uint64_t waited_at_stop_ns = 0;
    while (room.blocks == 0 && waited_at_stop_ns < kPatienceNs) {
        std::this_thread::sleep_for(kPause);
        auto const now_ns = base::monotonic_ns();
        tick(now_ns);
        stall_ns_.add(now_ns - last_ns);
        writer_.add_stall_ns(now_ns - last_ns);
        if (stop_) waited_at_stop_ns += now_ns - last_ns;
        last_ns = now_ns;
        room = writer_.room();
    }
    gave_up_ = room.blocks == 0;
    return room;
}

void DmaOutlet::stick(std::uint64_t word, std::uint64_t duration_ns) {
    if (stuck_until_ns_ != 0) return;
    THALWEG_ASSERT(stuck_until_ns_ == 0, "one wrong pointer is shown at a time");
    writer_.lie(word);
    stuck_until_ns_ = base::monotonic_ns() + duration_ns;
}

void DmaOutlet::tick(std::uint64_t now_ns) {
    if (stuck_until_ns_ == 0 || now_ns < stuck_until_ns_) return;
    stuck_until_ns_ = 0;
    writer_.lie(std::nullopt);
}

} // namespace thalweg::felix
