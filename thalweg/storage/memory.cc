// A file in memory: chunks found through a table, so that writers of different places never wait for each other.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/memory.h"
#include "thalweg/base/units.h"
#include "thalweg/storage/failure.h"
#include "thalweg/storage/queue.h"

namespace thalweg::storage {
namespace {

constexpr std::uint64_t kChunkBytes = 32 * base::kMiB;
constexpr std::uint64_t kMaxBytes = 1024 * base::kGiB;

class MemoryStorage final : public Storage {
  public:
    MemoryStorage(std::string name, MemoryOptions const& options)
        : name_(std::move(name)), chunks_(chunk_count(options.ring_bytes)) {
        if (options.ring_bytes == 0) return;
        for (std::size_t index = 0; index < chunks_.size(); ++index) {
            auto const bytes = chunk_at(index).bytes();
            std::memset(bytes.data(), 0, bytes.size());
        }
    }
    MemoryStorage(MemoryStorage const&) = delete;
    MemoryStorage& operator=(MemoryStorage const&) = delete;
    ~MemoryStorage() override {
        for (auto& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
    }

    std::string const& path() const override { return name_; }
    std::string engine() const override { return "memory"; }

    void read(std::uint64_t offset, std::span<std::byte> bytes) const override {
        auto const end = size();
        if (offset > end || bytes.size() > end - offset) fail_past_end(name_, offset, bytes.size(), end);
        for_each_piece(offset, bytes.size(), [&](ChunkPiece const& piece) {
            auto const to = bytes.subspan(piece.done, piece.count);
            if (auto const* const chunk = chunks_[piece.chunk].load(std::memory_order_acquire)) {
                std::memcpy(to.data(), chunk->data() + piece.within, to.size());
            } else { // a hole
                std::memset(to.data(), 0, to.size());
            }
        });
    }

    void write(std::uint64_t offset, std::span<std::byte const> bytes) override {
        check_room("write", offset, bytes.size());
        for_each_piece(offset, bytes.size(), [&](ChunkPiece const& piece) {
            std::memcpy(chunk_at(piece.chunk).data() + piece.within, bytes.data() + piece.done, piece.count);
        });
        if (!bytes.empty()) grow_to(offset + bytes.size());
    }

    std::uint64_t size() const override { return size_bytes_.load(std::memory_order_acquire); }

    // As with a file, shrinking while others write beyond the new end gives no promise about their bytes.
    void resize(std::uint64_t size_bytes) override {
        check_room("resize", size_bytes, 0);
        auto const end = size_bytes_.exchange(size_bytes);
        if (size_bytes >= end) return;
        for_each_piece(size_bytes, end - size_bytes, [&](ChunkPiece const& piece) {
            auto* const chunk = chunks_[piece.chunk].load();
            if (chunk != nullptr) std::memset(chunk->data() + piece.within, 0, piece.count);
        });
    }

    void reserve(std::uint64_t offset, std::uint64_t size_bytes) override {
        check_room("reserve", offset, size_bytes);
        for_each_piece(offset, size_bytes, [&](ChunkPiece const& piece) { chunk_at(piece.chunk); });
        if (size_bytes > 0) grow_to(offset + size_bytes);
    }

    void sync() override {}

    std::unique_ptr<WriteQueue> write_queue(std::size_t) override { return make_synchronous_queue(*this); }

  private:
    static std::size_t chunk_count(std::uint64_t ring_bytes) {
        return base::round_up(ring_bytes == 0 ? kMaxBytes : ring_bytes, kChunkBytes) / kChunkBytes;
    }

    // What of a range lies in one chunk.
    struct ChunkPiece {
        std::uint64_t chunk;  // its index
        std::uint64_t within; // offset in the chunk
        std::uint64_t done;   // offset in the range
        std::uint64_t count;  // bytes
    };

    template <class Work> void for_each_piece(std::uint64_t offset, std::uint64_t size_bytes, Work const& work) const {
        for (std::uint64_t done = 0; done < size_bytes;) {
            auto const within = (offset + done) % kChunkBytes;
            auto const count = std::min(kChunkBytes - within, size_bytes - done);
            work(ChunkPiece{(offset + done) / kChunkBytes % chunks_.size(), within, done, count});
            done += count;
        }
    }

    void check_room(char const* verb, std::uint64_t offset, std::uint64_t size_bytes) const {
        if (offset > kMaxBytes || size_bytes > kMaxBytes - offset) fail_at(verb, name_, offset, size_bytes, EFBIG);
    }

    base::AlignedBuffer& chunk_at(std::uint64_t index) {
        auto& place = chunks_[index];
        if (auto* const chunk = place.load(std::memory_order_acquire)) return *chunk;
        auto fresh = std::make_unique<base::AlignedBuffer>(kChunkBytes);
        base::AlignedBuffer* first = nullptr;
        if (!place.compare_exchange_strong(first, fresh.get(), std::memory_order_acq_rel)) return *first;
        return *fresh.release();
    }

    void grow_to(std::uint64_t end) {
        THALWEG_ASSERT(end <= kMaxBytes, "a file in memory ends where its table of chunks ends");
        auto size_bytes = size_bytes_.load(std::memory_order_relaxed);
        while (size_bytes < end && !size_bytes_.compare_exchange_weak(size_bytes, end, std::memory_order_release)) {
        }
    }

    std::string name_;
    std::vector<std::atomic<base::AlignedBuffer*>> chunks_;
    std::atomic<std::uint64_t> size_bytes_ = 0;
};

} // namespace

std::unique_ptr<Storage> make_memory_storage(std::string const& name, MemoryOptions const& options) {
    return std::make_unique<MemoryStorage>(name, options);
}

} // namespace thalweg::storage
