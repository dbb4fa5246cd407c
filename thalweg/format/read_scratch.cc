#include "thalweg/format/read_scratch.h"

#include <algorithm>

#include "thalweg/base/units.h"

namespace thalweg::format {
namespace {

// Pages of usual sizes, one after the other, find the buffers of the last one.
constexpr std::uint64_t kMostKeptBytes = 4 * base::kMiB;
constexpr std::uint64_t kKeptShare = 16; // of all there is

PageDecoder& decoder_of_thread() {
    thread_local PageDecoder decoder;
    return decoder;
}

} // namespace

ReadScratch::ReadScratch(model::Page const& page, std::optional<std::size_t> out_bytes)
    : decoder_(decoder_of_thread()), share_(decoder_.memory_for(page, out_bytes)) {}

ReadScratch::~ReadScratch() {
    if (share_.held_bytes() > std::min(kMostKeptBytes, base::read_memory_bytes() / kKeptShare)) decoder_ = {};
}

} // namespace thalweg::format
