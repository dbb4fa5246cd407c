// For any bytes, events lie within them, their samples fill the places of their channels and no others, and every byte
// is in one event or left over. Build with -DTHALWEG_FUZZ=ON and clang.
#include <bit>
#include <vector>

#include "thalweg/source/caen/raw_events.h"

namespace {

using namespace thalweg::source::caen;

void must(bool condition) {
    if (!condition) __builtin_trap();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::vector<std::byte> const bytes(reinterpret_cast<std::byte const*>(data),
                                       reinterpret_cast<std::byte const*>(data) + size);
    RawEvents events(bytes);
    RawEvent event;
    auto left = bytes.size();
    while (events.next(event)) {
        must(events.left_over_bytes() < left);
        auto const event_bytes = left - events.left_over_bytes();
        left = events.left_over_bytes();
        if (event.kind != RawEvent::Kind::data) continue;
        auto const channels = static_cast<std::size_t>(std::popcount(event.channels));
        must(event_bytes == 24 + channels * event.samples * 2);
        std::vector<std::vector<std::byte>> made(channels, std::vector<std::byte>(event.samples * 2));
        std::vector<std::byte*> places;
        for (auto& each : made) places.push_back(each.data());
        copy_samples(event, places);
        for (std::size_t i = 0; i < channels && event.samples > 0; ++i) must(made[i][1] == event.data[i * 8 + 6]);
    }
    must(left == events.left_over_bytes());
    return 0;
}
