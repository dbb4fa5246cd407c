// Ways to pass descriptors of fragments from the thread that builds to the thread that sends. One thread puts, one
// takes; both see the other's work once per batch. All hold 64 Ki descriptors, 1 MiB.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#ifdef THALWEG_STUDY_TBB
#include <tbb/concurrent_hash_map.h>
#endif

namespace thalweg::study {

struct Descriptor {
    std::uint64_t event = 0;
    std::uint32_t offset = 0;
    std::uint32_t length_bytes = 0;
};
static_assert(sizeof(Descriptor) == 16);

inline constexpr std::uint64_t kPassageItems = 1 << 16;

// The progress of the two sides: each writes its own cache line and remembers what it last saw of the other's.
struct Progress {
    struct alignas(64) Side {
        std::atomic<std::uint64_t> position = 0;
        std::uint64_t other_seen = 0;
    };
    Side put, taken;

    bool has_room(std::size_t count) {
        auto const end = put.position.load(std::memory_order_relaxed) + count;
        if (end - put.other_seen > kPassageItems) put.other_seen = taken.position.load(std::memory_order_acquire);
        return end - put.other_seen <= kPassageItems;
    }
    std::uint64_t available() {
        auto const position = taken.position.load(std::memory_order_relaxed);
        if (taken.other_seen == position) taken.other_seen = put.position.load(std::memory_order_acquire);
        return taken.other_seen - position;
    }
};

// A circular buffer: the element at position i lies at i modulo its size.
class RingPassage {
  public:
    RingPassage() : slots_(kPassageItems) {}

    bool put(std::span<Descriptor const> batch) {
        if (!progress_.has_room(batch.size())) return false;
        auto const position = progress_.put.position.load(std::memory_order_relaxed);
        for (std::size_t i = 0; i < batch.size(); ++i) slots_[(position + i) % kPassageItems] = batch[i];
        progress_.put.position.store(position + batch.size(), std::memory_order_release);
        return true;
    }
    std::size_t take(std::span<Descriptor> batch) {
        auto const count = std::min<std::uint64_t>(batch.size(), progress_.available());
        auto const position = progress_.taken.position.load(std::memory_order_relaxed);
        for (std::size_t i = 0; i < count; ++i) batch[i] = slots_[(position + i) % kPassageItems];
        if (count != 0) progress_.taken.position.store(position + count, std::memory_order_release);
        return count;
    }

  private:
    std::vector<Descriptor> slots_;
    Progress progress_;
};

#ifdef THALWEG_STUDY_TBB
// Works by event number, like requests: a descriptor is found, taken over and erased.
class MapPassage {
  public:
    MapPassage() : map_(kPassageItems * 2) {}

    bool put(std::span<Descriptor const> batch) {
        if (!progress_.has_room(batch.size())) return false;
        for (auto const& descriptor : batch) map_.emplace(descriptor.event, descriptor);
        progress_.put.position.fetch_add(batch.size(), std::memory_order_release);
        return true;
    }
    std::size_t take(std::span<Descriptor> batch) {
        auto const count = std::min<std::uint64_t>(batch.size(), progress_.available());
        auto const first_event = progress_.taken.position.load(std::memory_order_relaxed);
        for (std::size_t i = 0; i < count; ++i) {
            Map::accessor found;
            if (!map_.find(found, first_event + i)) continue;
            batch[i] = found->second;
            map_.erase(found);
        }
        if (count != 0) progress_.taken.position.store(first_event + count, std::memory_order_release);
        return count;
    }

  private:
    using Map = tbb::concurrent_hash_map<std::uint64_t, Descriptor>;

    Map map_;
    Progress progress_;
};
#endif

} // namespace thalweg::study
