#include "thalweg/checkpoint/write_buffers.h"

#include <array>

#include "thalweg/base/assert.h"
#include "thalweg/base/units.h"
#include "thalweg/checkpoint/pieces.h"
#include "thalweg/storage/failure.h"

namespace thalweg::checkpoint {
namespace {

constexpr std::size_t kWritesInFlight = 4;
constexpr std::size_t kBufferBytes = kWriteBytes + 2 * base::kBlockBytes;

} // namespace

WriteBuffers::WriteBuffers(storage::Storage& file)
    : file_(file), places_(kWritesInFlight + 1), queue_(file.write_queue(kWritesInFlight)) {
    for (std::size_t i = 0; i < places_.size(); ++i) free_.push_back(i);
}

void WriteBuffers::wait_for_slot() {
    while (free_.empty()) reap();
}

std::byte* WriteBuffers::buffer() {
    wait_for_slot();
    if (buffers_.size() == 0) {
        buffers_ = base::AlignedBuffer(places_.size() * kBufferBytes, base::PageSize::huge);
    }
    return buffers_.data() + free_.back() * kBufferBytes;
}

void WriteBuffers::submit(std::uint64_t offset, std::span<std::byte const> bytes) {
    THALWEG_ASSERT(!free_.empty(), "a write has a slot of its own");
    THALWEG_ASSERT(offset % base::kBlockBytes == 0 && bytes.size() % base::kBlockBytes == 0,
                   "what is written is whole blocks");
    auto const slot = free_.back();
    free_.pop_back();
    places_[slot] = {offset, bytes.size()};
    queue_->submit(offset, bytes, slot);
}

void WriteBuffers::finish() {
    while (queue_->in_flight() > 0) reap();
    THALWEG_ASSERT(free_.size() == places_.size(), "every write has ended");
}

void WriteBuffers::reap() {
    std::array<storage::Completion, kWritesInFlight> done;
    auto const count = queue_->reap(done, true);
    for (auto const& each : std::span(done).first(count)) {
        if (each.error != 0) {
            auto const& [offset, size_bytes] = places_[each.token];
            storage::fail_at("write", file_.path(), offset, size_bytes, each.error);
        }
        free_.push_back(each.token);
    }
}

} // namespace thalweg::checkpoint
