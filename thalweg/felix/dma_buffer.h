// A circular buffer that a card fills with blocks and one reader empties, in POSIX shared memory. The pointers are
// those of the card's descriptors: where it writes next, up to where the reader has read, and for each a bit that
// changes with every lap ("even"), which tells a full buffer from an empty one. A full buffer stops the card; nothing
// is ever overwritten.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/memory.h"
#include "thalweg/base/process.h"
#include "thalweg/base/shared_number.h"
#include "thalweg/felix/block.h"

namespace thalweg::felix {

// Shared memory "thalweg-felix-NAME-INDEX".
std::string dma_name(std::string const& card, std::uint32_t index);

inline constexpr std::uint64_t kHeartbeatNs = 100'000'000; // a card that lives says so this often
inline constexpr std::uint64_t kCardGoneNs = 1'000'000'000;

// An offset into the buffer and the lap's bit, in one word so that they change together.
struct DmaPointer {
    static constexpr std::uint64_t kOdd = 1ull << 63;
    std::uint64_t word = 0;

    std::uint64_t offset() const { return word & ~kOdd; }
    bool odd() const { return (word & kOdd) != 0; }
};

// The head of the shared memory, 4096 bytes; blocks follow, and a page that decoders may read beyond the last. Each
// side writes its own cache lines.
struct DmaHead {
    static constexpr std::uint64_t kMagic = 0x31414D4446574854; // "THWFDMA1"
    static constexpr std::uint64_t kBytes = 4096;

    std::uint64_t magic = 0;        // kMagic once the rest is there
    std::uint64_t buffer_bytes = 0; // a multiple of block_bytes
    std::uint32_t block_bytes = 0;
    std::uint16_t trailer_bytes = 0;
    std::uint16_t block_magic = 0;
    base::ProcessId card;
    std::uint64_t card_instance = 0; // random: a card that was started anew is another one

    alignas(64) std::atomic<std::uint64_t> write_pointer = 0; // the card's
    alignas(64) std::atomic<std::uint64_t> heartbeat_ns = 0;  // base::monotonic_ns()
    std::atomic<std::uint64_t> stopped = 0;                   // 1: nothing more will come, on purpose
    std::atomic<std::uint64_t> stall_ns = 0;                  // how long the card has waited for room

    alignas(64) std::atomic<std::uint64_t> read_pointer = 0; // the reader's
    // The newest event (64 bits) that a reader accepted: so events keep their numbers when a reader starts anew.
    std::atomic<std::uint64_t> newest_event = 0;
    base::ProcessId reader; // the last one that held the lock
    // All events before it were closed by a reader: what still comes of them comes too late, whoever reads then.
    std::atomic<std::uint64_t> closed_event = 0;
};
static_assert(offsetof(DmaHead, buffer_bytes) == 8 && offsetof(DmaHead, block_bytes) == 16);
static_assert(offsetof(DmaHead, trailer_bytes) == 20 && offsetof(DmaHead, block_magic) == 22);
static_assert(offsetof(DmaHead, card) == 24 && offsetof(DmaHead, card_instance) == 40);
static_assert(offsetof(DmaHead, write_pointer) == 64 && offsetof(DmaHead, heartbeat_ns) == 128);
static_assert(offsetof(DmaHead, stopped) == 136 && offsetof(DmaHead, stall_ns) == 144);
static_assert(offsetof(DmaHead, read_pointer) == 192 && offsetof(DmaHead, newest_event) == 200);
static_assert(offsetof(DmaHead, reader) == 208 && offsetof(DmaHead, closed_event) == 224 &&
              sizeof(DmaHead) <= DmaHead::kBytes);

// The card's side. Used by one thread, but for beat() and backlog(), which any may call.
class DmaWriter {
  public:
    // Throws base::UsageError where buffer_bytes is no multiple of the block size or a live card owns the name,
    // base::SystemError where there is no room. What a dead card left is replaced.
    DmaWriter(std::string const& name, BlockFormat const& format, std::uint64_t buffer_bytes);

    // Contiguous blocks that may be written now; `data` is where. 0 blocks: full, the reader must go on first.
    struct Room {
        std::byte* data;
        std::uint64_t blocks;
    };
    Room room();
    // The next `blocks` are whole: the reader may have them.
    void publish(std::uint64_t blocks);
    void beat();
    void stop();
    void add_stall_ns(std::uint64_t ns);
    // The whole buffer, for cards that prepare blocks in place.
    std::byte* data() const;
    std::uint64_t block_count() const;
    // Blocks published since the beginning; position % block_count() is where the next one lies.
    std::uint64_t position() const { return position_.get(); }
    // For emulated faults: what the reader sees from now on, whatever is true; none: the truth again.
    void lie(std::optional<std::uint64_t> write_pointer_word);
    // The write pointer as the reader sees it.
    std::uint64_t shown() const { return head().write_pointer.load(std::memory_order_relaxed); }
    // Blocks that the reader has not yet released.
    std::uint64_t backlog() const;

  private:
    DmaHead& head() const { return *reinterpret_cast<DmaHead*>(memory_.data()); }

    void show_position();

    base::SharedMemory memory_;
    BlockFormat format_;
    base::SharedNumber position_;
    bool lies_ = false;
};

// The reader's side; holds the buffer's lock. Positions are unwrapped counts of blocks since attach() that begin at
// what the last reader had not released. `published` and `block` may be used by many threads, each with its own cursor;
// `release` by one at a time.
class DmaReader {
  public:
    // Throws base::UsageError where another reader has the buffer (naming its pid), base::SystemError (ENOENT) where
    // there is no such buffer, base::DataError where it is no DMA buffer of this version.
    static DmaReader attach(std::string const& name);
    // The same, but nothing where there is no buffer, or still the one of card `instance`, or somebody reads it.
    static std::optional<DmaReader> find_other(std::string const& name, std::uint64_t instance);

    BlockFormat const& format() const { return format_; }
    std::string const& name() const { return memory_.name(); }
    std::uint64_t block_count() const { return block_count_; }
    std::uint64_t card_instance() const;

    // Up to where blocks may be read, given that the caller has read up to `cursor`. A pointer that makes no sense (out
    // of the buffer, between blocks, behind the read pointer) is counted, and `cursor` is returned.
    std::uint64_t published(std::uint64_t cursor);
    std::byte const* block(std::uint64_t position) const {
        return blocks_ + (start_ + position) % block_count_ * format_.block_bytes;
    }
    // From `position` on they lie one behind the other.
    std::uint64_t blocks_to_wrap(std::uint64_t position) const {
        return block_count_ - (start_ + position) % block_count_;
    }
    // Blocks before `position` are the card's again.
    void release(std::uint64_t position);

    std::uint64_t bad_pointers() const { return bad_pointers_.load(std::memory_order_relaxed); }
    std::uint64_t heartbeat_age_ns() const;
    bool stopped() const;
    std::uint64_t card_stall_ns() const;
    std::uint64_t newest_event() const;
    void set_newest_event(std::uint64_t event);
    std::uint64_t closed_event() const;
    void set_closed_event(std::uint64_t event);

    DmaReader(DmaReader&& other) noexcept;

  private:
    DmaReader() = default;
    DmaHead& head() const { return *reinterpret_cast<DmaHead*>(memory_.data()); }
    void check_head() const;

    base::SharedMemory memory_;
    base::FileDescriptor lock_;
    BlockFormat format_;
    std::byte const* blocks_ = nullptr;
    std::uint64_t block_count_ = 0;
    std::uint64_t start_ = 0; // where position 0 lies, in blocks of two laps
    std::atomic<std::uint64_t> released_ = 0;
    std::atomic<std::uint64_t> bad_pointers_ = 0;
};

} // namespace thalweg::felix
