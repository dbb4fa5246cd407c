#include "thalweg/felix/dma_buffer.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <new>
#include <sys/file.h>
#include <sys/stat.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/random.h"

namespace thalweg::felix {
namespace {

// Positions are distinguished over two laps; the second one is the odd one.
std::uint64_t word_of(std::uint64_t position, std::uint64_t block_count, std::uint32_t block_bytes) {
    auto const odd = position / block_count % 2 == 1 ? DmaPointer::kOdd : 0;
    return position % block_count * block_bytes | odd;
}

// Returns how many blocks the pointer is ahead of `position`, or nothing if it does not point into the buffer.
std::optional<std::uint64_t> distance(std::uint64_t position, std::uint64_t word, std::uint64_t block_count,
                                      std::uint32_t block_bytes) {
    DmaPointer const pointer{word};
    if (pointer.offset() % block_bytes != 0 || pointer.offset() >= block_count * block_bytes) return std::nullopt;
    auto const laps = 2 * block_count;
    auto const at = pointer.offset() / block_bytes + (pointer.odd() ? block_count : 0);
    return (at + laps - position % laps) % laps;
}

std::string path_of(std::string const& name) { return "/dev/shm/" + name; }

// A card holds this lock for as long as it lives: the kernel frees it when its holder is gone. The pid of a card says
// nothing in another pid namespace, and containers may share /dev/shm. It is a lock of the open file, on one byte: it
// excludes neither the reader's lock nor another file of the same process.
struct flock card_lock() {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_len = 1;
    return lock;
}

base::FileDescriptor lock_as_card(std::string const& name) {
    auto file = base::open_file(path_of(name), O_RDWR);
    auto lock = card_lock();
    if (::fcntl(file.get(), F_OFD_SETLK, &lock) != 0) base::fail_system({"cannot lock DMA buffer " + name}, errno);
    return file;
}

bool is_locked_by_card(std::string const& name) {
    auto const file = base::open_file(path_of(name), O_RDWR);
    auto lock = card_lock();
    if (::fcntl(file.get(), F_OFD_GETLK, &lock) != 0) base::fail_system({"cannot look at DMA buffer " + name}, errno);
    return lock.l_type != F_UNLCK;
}

// Returns which living card fills the buffer, or nothing if there is none.
std::optional<std::string> living_card(std::string const& name, DmaHead const& head) {
    if (base::is_alive(head.card)) return fmt::format("the card of process {}", head.card.pid);
    if (is_locked_by_card(name))
        return fmt::format("a card in another pid namespace, where its process is {},", head.card.pid);
    return std::nullopt;
}

// Frees the name that a dead card left. A process that still reads the old memory sees at once that its card is gone.
void replace_dead_card(std::string const& name) {
    base::SharedMemory left;
    try {
        left = base::SharedMemory::attach(name);
    } catch (base::SystemError const& error) {
        if (error.code != ENOENT) throw;
    }
    if (left && left.size() >= DmaHead::kBytes) {
        auto& head = *reinterpret_cast<DmaHead*>(left.data());
        auto const other = head.magic == DmaHead::kMagic ? living_card(name, head) : std::nullopt;
        if (other) {
            base::fail_usage(
                {"cannot fill DMA buffer " + name, *other + " does", "stop that one, or give this card another name"});
        }
        head.heartbeat_ns = 0;
    }
    base::SharedMemory::unlink(name);
}

// Locks the making of buffers: while one card creates its buffer, another one would take it for a dead card's.
base::FileDescriptor lock_makers() {
    constexpr char const* kFolder = "/dev/shm";
    auto file = base::open_file(kFolder, O_RDONLY | O_DIRECTORY);
    while (::flock(file.get(), LOCK_EX) != 0) {
        if (errno != EINTR) base::fail_system({std::string("cannot lock ") + kFolder}, errno);
    }
    return file;
}

std::string reader_of(std::string const& name) {
    auto const memory = base::SharedMemory::attach(name);
    if (memory.size() < DmaHead::kBytes) return "another process";
    return fmt::format("process {}", reinterpret_cast<DmaHead const*>(memory.data())->reader.pid);
}

bool is_same_file(int fd, std::string const& path) {
    struct stat held {};
    struct stat named {};
    return ::fstat(fd, &held) == 0 && ::stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino;
}

// The kernel frees this lock when its holder dies.
base::FileDescriptor lock_buffer(std::string const& name) {
    auto const path = path_of(name);
    for (;;) {
        auto file = base::open_file(path, O_RDWR);
        if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
            if (errno != EWOULDBLOCK) base::fail_system({"cannot lock DMA buffer " + name}, errno);
            base::fail_usage({"cannot read DMA buffer " + name, reader_of(name) + " does, and a buffer has one reader",
                              "stop that one first"});
        }
        if (is_same_file(file.get(), path)) return file; // otherwise a new card has just replaced it
    }
}

} // namespace

std::string dma_name(std::string const& card, std::uint32_t index) {
    return fmt::format("thalweg-felix-{}-{}", card, index);
}

DmaWriter::DmaWriter(std::string const& name, BlockFormat const& format, std::uint64_t buffer_bytes) : format_(format) {
    if (buffer_bytes == 0 || buffer_bytes % format.block_bytes != 0) {
        base::fail_usage({fmt::format("cannot make DMA buffer {} of {} bytes", name, buffer_bytes),
                          fmt::format("it holds blocks of {} bytes", format.block_bytes), "choose a multiple of that"});
    }
    auto const lock = lock_makers();
    replace_dead_card(name);
    memory_ = base::SharedMemory::create(name, DmaHead::kBytes + buffer_bytes + kReadableBehind);
    lock_ = lock_as_card(name);
    auto& head = *new (memory_.data()) DmaHead;
    head.buffer_bytes = buffer_bytes;
    head.block_bytes = format.block_bytes;
    head.trailer_bytes = static_cast<std::uint16_t>(format.trailer_bytes);
    head.block_magic = format.magic;
    head.card = base::this_process();
    head.card_instance = base::random_word();
    beat();
    std::atomic_ref(head.magic).store(DmaHead::kMagic, std::memory_order_release); // from here on it may be read
}

DmaWriter::FreeBlocks DmaWriter::room() {
    auto const next = position() % block_count();
    auto const waiting = backlog();
    THALWEG_ASSERT(waiting <= block_count(), "at most one lap waits for the reader");
    auto const free = block_count() - waiting;
    return {data() + next * format_.block_bytes, std::min(free, block_count() - next)};
}

void DmaWriter::publish(std::uint64_t blocks) {
    THALWEG_ASSERT(blocks <= block_count(), "a card publishes at most one lap at once");
    position_.add(blocks);
    if (!lies_) show_position();
}

void DmaWriter::show_position() {
    head().write_pointer.store(word_of(position(), block_count(), format_.block_bytes), std::memory_order_release);
}

void DmaWriter::lie(std::optional<std::uint64_t> write_pointer_word) {
    lies_ = write_pointer_word.has_value();
    if (lies_) {
        head().write_pointer.store(*write_pointer_word, std::memory_order_release);
    } else {
        show_position();
    }
}

void DmaWriter::beat() { head().heartbeat_ns.store(base::monotonic_ns(), std::memory_order_relaxed); }

void DmaWriter::stop() { head().stopped.store(1, std::memory_order_release); }

void DmaWriter::add_stall_ns(std::uint64_t ns) { head().stall_ns.fetch_add(ns, std::memory_order_relaxed); }

std::byte* DmaWriter::data() const { return memory_.data() + DmaHead::kBytes; }

std::uint64_t DmaWriter::block_count() const { return head().buffer_bytes / format_.block_bytes; }

// A read pointer that makes no sense counts as a full buffer, so nothing is overwritten.
std::uint64_t DmaWriter::backlog() const {
    auto const count = block_count();
    auto const read = head().read_pointer.load(std::memory_order_acquire);
    auto const ahead = distance(position(), read, count, format_.block_bytes);
    if (!ahead) return count;
    return std::min((2 * count - *ahead) % (2 * count), count);
}

void check_has_no_reader(std::string const& name) {
    try {
        lock_buffer(name);
    } catch (base::SystemError const&) { // there is no such buffer, or it cannot be asked: so no reader is known
    }
}

DmaReader DmaReader::attach(std::string const& name) {
    DmaReader reader;
    reader.lock_ = lock_buffer(name);
    reader.memory_ = base::SharedMemory::attach(name);
    reader.check_head();
    auto& head = reader.head();
    reader.format_ = *format_of_magic(head.block_magic);
    reader.blocks_ = reader.memory_.data() + DmaHead::kBytes;
    reader.block_count_ = head.buffer_bytes / head.block_bytes;
    auto const start = distance(0, head.read_pointer, reader.block_count_, head.block_bytes);
    if (!start) base::fail_data({"cannot read DMA buffer " + name, "the pointer of its last reader makes no sense"});
    reader.start_ = *start;
    head.reader = base::this_process();
    return reader;
}

std::optional<DmaReader> DmaReader::find_other(std::string const& name, std::uint64_t instance) {
    try {
        auto reader = attach(name);
        if (reader.card_instance() != instance) return reader;
    } catch (base::Error const&) { // it is not there yet, or is being created
    }
    return std::nullopt;
}

void DmaReader::check_head() const {
    auto const bytes = memory_.size();
    auto const& head = this->head();
    bool const has_head = bytes >= DmaHead::kBytes;
    auto const magic = has_head ? std::atomic_ref(this->head().magic).load(std::memory_order_acquire) : 0;
    if (has_head && magic == 0) // it is written last
        base::fail_data({"cannot read DMA buffer " + name(), "its card is making it, or died while it did so",
                         "wait for the card, or restart it"});
    if (magic != DmaHead::kMagic)
        base::fail_data({"cannot read DMA buffer " + name(), "it was not made by this version", "restart its card"});
    auto const format = format_of_magic(head.block_magic);
    bool const is_sound = format && format->block_bytes == head.block_bytes &&
                          format->trailer_bytes == head.trailer_bytes && head.buffer_bytes > 0 &&
                          head.buffer_bytes % head.block_bytes == 0 && head.buffer_bytes < bytes &&
                          DmaHead::kBytes + head.buffer_bytes + kReadableBehind <= bytes;
    if (!is_sound) base::fail_data({"cannot read DMA buffer " + name(), "its head is damaged", "restart its card"});
}

DmaReader::DmaReader(DmaReader&& other) noexcept
    : memory_(std::move(other.memory_)), lock_(std::move(other.lock_)), format_(other.format_), blocks_(other.blocks_),
      block_count_(other.block_count_), start_(other.start_), released_(other.released_.load()),
      bad_pointers_(other.bad_pointers_.load()) {}

std::uint64_t DmaReader::published(std::uint64_t cursor) {
    auto const word = head().write_pointer.load(std::memory_order_acquire);
    auto const ahead = distance(start_ + cursor, word, block_count_, format_.block_bytes);
    // This is read after the write pointer, so it is a limit for it: the card is never more than one lap ahead of the
    // reader.
    auto const bound = released_.load(std::memory_order_acquire) + block_count_;
    if (ahead && cursor + *ahead <= bound) return cursor + *ahead;
    bad_pointers_.fetch_add(1, std::memory_order_relaxed);
    return cursor;
}

void DmaReader::release(std::uint64_t position) {
    THALWEG_ASSERT(position >= released_.load(std::memory_order_relaxed), "what is released stays released");
    released_.store(position, std::memory_order_release);
    auto const word = word_of(start_ + position, block_count_, format_.block_bytes);
    head().read_pointer.store(word, std::memory_order_release);
}

std::uint64_t DmaReader::card_instance() const { return head().card_instance; }

std::uint64_t DmaReader::heartbeat_age_ns() const {
    auto const beat = head().heartbeat_ns.load(std::memory_order_relaxed);
    auto const now = base::monotonic_ns();
    return now > beat ? now - beat : 0;
}

bool DmaReader::stopped() const { return head().stopped.load(std::memory_order_acquire) != 0; }

std::uint64_t DmaReader::card_stall_ns() const { return head().stall_ns.load(std::memory_order_relaxed); }

std::uint64_t DmaReader::newest_event() const { return head().newest_event.load(std::memory_order_relaxed); }

void DmaReader::set_newest_event(std::uint64_t event) { head().newest_event.store(event, std::memory_order_relaxed); }

std::uint64_t DmaReader::closed_event() const { return head().closed_event.load(std::memory_order_relaxed); }

void DmaReader::set_closed_event(std::uint64_t event) { head().closed_event.store(event, std::memory_order_relaxed); }

} // namespace thalweg::felix
