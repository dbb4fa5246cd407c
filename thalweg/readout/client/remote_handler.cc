#include "thalweg/readout/client/remote_handler.h"

#include <algorithm>

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kUnknownEventBytes = 64 << 10;

} // namespace

std::uint64_t RemoteHandler::bytes_to_ask(std::uint64_t count, std::uint64_t share) const {
    // A handler that was greeted before its run began could not report the size of its events. What it has sent since
    // says so: a guess would exceed the share of a handler in a small credit, and then few answers are on their way.
    auto const likely = event_bytes > 0 ? 2 * static_cast<std::uint64_t>(event_bytes) : kUnknownEventBytes;
    auto const largest = welcome.max_fragment_bytes != 0 ? std::uint64_t{welcome.max_fragment_bytes} : likely;
    auto const most = largest + sizeof(EventRecord);
    auto const each = event_bytes > 0 ? std::min(most, static_cast<std::uint64_t>(event_bytes)) : most;
    return std::min(sizeof(EventsHead) + std::max(count * each, most), std::max(sizeof(EventsHead) + most, share));
}

} // namespace thalweg::readout
