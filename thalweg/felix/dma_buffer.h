// A circular buffer in POSIX shared memory that a card fills with blocks and one reader empties. Its pointers are those
// of the card's descriptors: where the card writes next, up to where the reader has read, and for each a bit that
// changes with every lap ("even"), which distinguishes a full buffer from an empty one.
//
//   blocks   ... released ... | published, not yet released | free ...
//                     read_pointer                  write_pointer
//
// A block is free or published. Each function is called by one side only:
//   free        DmaWriter::room() offers it, the card writes it; DmaWriter::publish() -> published
//   published   DmaReader::published() shows it; DmaReader::release() -> free, for the next lap
//
// The sides come and go; each change has one place:
//   card     DmaWriter() creates the memory under lock_makers(), replaces what a dead card left, beat(), stop(). It is
//            dead if its process is, and no process has its lock
//   reader   attach() takes the lock of the buffer, which the kernel frees if the reader dies. It goes on at the
//            read_pointer, so blocks that a dead reader had not released are read again
//
// Invariants:
//   1. The card never writes a block that is published and not released: a full buffer stops it (room, publish).
//   2. Only the card stores write_pointer, only the reader stores read_pointer, each in a cache line of its own.
//   3. A block's bytes are written before write_pointer passes it (release store, acquire load).
//   4. The reader never trusts write_pointer: a value that makes no sense is counted and ignored (published()).
//   5. A buffer has at most one card that is alive, and at most one reader: each holds a lock, which the kernel frees.
//   6. newest_event and closed_event outlive a reader, so the next one continues its event numbers.
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

// Returns the name of the shared memory, "thalweg-felix-NAME-INDEX".
std::string dma_name(std::string const& card, std::uint32_t index);

inline constexpr std::uint64_t kHeartbeatNs = 100'000'000; // a living card updates its heartbeat this often
inline constexpr std::uint64_t kCardGoneNs = 1'000'000'000;

// An offset into the buffer and the bit of the lap, in one word so that they change together.
struct DmaPointer {
    static constexpr std::uint64_t kOdd = 1ull << 63;
    std::uint64_t word = 0;

    std::uint64_t offset() const { return word & ~kOdd; }
    bool odd() const { return (word & kOdd) != 0; }
};

// The head of the shared memory, 4096 bytes. The blocks follow, and then a page that decoders may read beyond the last
// block. Each side writes its own cache lines.
struct DmaHead {
    static constexpr std::uint64_t kMagic = 0x31414D4446574854; // "THWFDMA1"
    static constexpr std::uint64_t kBytes = 4096;

    std::uint64_t magic = 0;        // kMagic once the rest is written
    std::uint64_t buffer_bytes = 0; // a multiple of block_bytes
    std::uint32_t block_bytes = 0;
    std::uint16_t trailer_bytes = 0;
    std::uint16_t block_magic = 0;
    base::ProcessId card;
    std::uint64_t card_instance = 0; // random: a restarted card is another instance

    alignas(64) std::atomic<std::uint64_t> write_pointer = 0; // the card's pointer
    alignas(64) std::atomic<std::uint64_t> heartbeat_ns = 0;  // base::monotonic_ns()
    std::atomic<std::uint64_t> stopped = 0;                   // 1: the card ended in order, and nothing more will come
    std::atomic<std::uint64_t> stall_ns = 0;                  // how long the card has waited for room

    alignas(64) std::atomic<std::uint64_t> read_pointer = 0; // the reader's pointer
    // The newest event (64 bits) that a reader accepted, so that events keep their numbers if a reader is restarted.
    std::atomic<std::uint64_t> newest_event = 0;
    base::ProcessId reader; // the last process that held the lock
    // Every event before this one was closed by a reader: later packets of these events come too late for any reader.
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

// The card's side. One thread uses it; any thread may call beat() and backlog().
class DmaWriter {
  public:
    // Throws base::UsageError if buffer_bytes is not a multiple of the block size, or a living card owns the name;
    // base::SystemError if there is no memory. Replaces what a dead card left.
    DmaWriter(std::string const& name, BlockFormat const& format, std::uint64_t buffer_bytes);

    // Contiguous blocks at `data` that may be written now. 0 blocks: the buffer is full until the reader releases some.
    struct FreeBlocks {
        std::byte* data;
        std::uint64_t blocks;
    };
    FreeBlocks room();
    // Publishes the next `blocks`, which are complete.
    void publish(std::uint64_t blocks);
    void beat();
    void stop();
    void add_stall_ns(std::uint64_t ns);
    // Returns the whole buffer, for cards that prepare blocks in place.
    std::byte* data() const;
    std::uint64_t block_count() const;
    // Returns the number of published blocks; position % block_count() is the place of the next one.
    std::uint64_t position() const { return position_.get(); }
    // Makes the reader see this write pointer instead of the true one, to emulate faults. Empty: the truth again.
    void lie(std::optional<std::uint64_t> write_pointer_word);
    // Returns the write pointer as the reader sees it.
    std::uint64_t shown() const { return head().write_pointer.load(std::memory_order_relaxed); }
    // Returns the number of blocks that the reader has not released.
    std::uint64_t backlog() const;

  private:
    DmaHead& head() const { return *reinterpret_cast<DmaHead*>(memory_.data()); }

    void show_position();

    base::SharedMemory memory_;
    base::FileDescriptor lock_; // by which other cards, in any pid namespace, see that this one lives
    BlockFormat format_;
    base::SharedNumber position_;
    bool lies_ = false;
};

// The reader's side, which holds the lock of the buffer. Positions count blocks since attach() and begin at what the
// previous reader had not released. Many threads may call `published` and `block`, each with a cursor of its own; one
// at a time may call `release`.
class DmaReader {
  public:
    // Throws base::UsageError if another reader has the buffer (the message names its pid), base::SystemError (ENOENT)
    // if there is no such buffer, base::DataError if it is not a DMA buffer of this version.
    static DmaReader attach(std::string const& name);
    // Returns nothing if there is no buffer, if it still belongs to card `instance`, or if another process reads it.
    // Otherwise like attach().
    static std::optional<DmaReader> find_other(std::string const& name, std::uint64_t instance);

    BlockFormat const& format() const { return format_; }
    std::string const& name() const { return memory_.name(); }
    std::uint64_t block_count() const { return block_count_; }
    std::uint64_t card_instance() const;

    // Returns the end of the blocks that may be read, if the caller has read up to `cursor`. A pointer that makes no
    // sense (outside the buffer, between blocks, behind the read pointer) is counted, and `cursor` is returned.
    std::uint64_t published(std::uint64_t cursor);
    std::byte const* block(std::uint64_t position) const {
        return blocks_ + (start_ + position) % block_count_ * format_.block_bytes;
    }
    // Returns the number of blocks that lie contiguously from `position` on.
    std::uint64_t blocks_to_wrap(std::uint64_t position) const {
        return block_count_ - (start_ + position) % block_count_;
    }
    // Gives the blocks before `position` back to the card.
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
    std::uint64_t start_ = 0; // the place of position 0, in blocks of two laps
    std::atomic<std::uint64_t> released_ = 0;
    std::atomic<std::uint64_t> bad_pointers_ = 0;
};

// Throws base::UsageError, which names the process, if a process is known to read the buffer.
void check_has_no_reader(std::string const& name);

} // namespace thalweg::felix
