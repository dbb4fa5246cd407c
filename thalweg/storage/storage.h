// The seam of the storages: bytes at offsets of one file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace thalweg::base {
class FileDescriptor;
}

namespace thalweg::storage {

struct Completion {
    std::uint64_t token = 0;
    int error = 0; // errno, 0 when all bytes were written
};

// Writes in flight, of one thread. The bytes of a submitted write must stay as they are until it is reaped, or until
// the queue is destroyed, which waits for all that is in flight.
class WriteQueue {
  public:
    virtual ~WriteQueue() = default;

    // Starts a write, waiting for room first when `depth` writes are in flight. `offset` and size must be multiples of
    // base::kBlockBytes and the bytes page-aligned, whatever the engine (else UsageError): that is what keeps every
    // file fit for direct I/O.
    virtual void submit(std::uint64_t offset, std::span<std::byte const> bytes, std::uint64_t token) = 0;

    // Writes that have ended since the last call: at most `out.size()` of them; with `wait`, at least one if any are in
    // flight. A short write is continued, never reported as done.
    virtual std::size_t reap(std::span<Completion> out, bool wait) = 0;

    // Submitted and not yet reaped.
    virtual std::size_t in_flight() const = 0;
};

// One file, open for reading and writing. Thread-safe. Every call does all that it is asked or throws
// base::SystemError naming the file, the offset and the reason.
class Storage {
  public:
    virtual ~Storage() = default;

    virtual std::string const& path() const = 0;
    // Returns the engine that was chosen, for reports: "io_uring, O_DIRECT", "threads, O_DIRECT", "posix", "memory",
    // with the reason in brackets where it is a second choice.
    virtual std::string engine() const = 0;

    // Any offset and size. Reading beyond the end is an error.
    virtual void read(std::uint64_t offset, std::span<std::byte> bytes) const = 0;
    virtual void write(std::uint64_t offset, std::span<std::byte const> bytes) = 0;

    // As `write`, for places next to which queues write at the same time: bytes take the same way as those of the
    // queues. No other call may write to the blocks that it touches meanwhile, and the file may grow by whole blocks.
    virtual void write_beside_queues(std::uint64_t offset, std::span<std::byte const> bytes) { write(offset, bytes); }

    virtual std::uint64_t size() const = 0;
    virtual void resize(std::uint64_t size_bytes) = 0;

    // Allocates blocks so that later writes in this range cannot fail for want of space (and changes no bytes; the
    // file grows to at least the range's end). Throws SystemError with ENOSPC or EDQUOT when there is no room; the file
    // may have grown by a part then. A file system that cannot allocate is only asked for its free space.
    virtual void reserve(std::uint64_t offset, std::uint64_t size_bytes) = 0;

    // Gives a range back that is no longer needed: its blocks are free again if the file system can do that, and it
    // reads as zeros or as it was.
    virtual void give_back(std::uint64_t, std::uint64_t) {}

    // Returns how many bytes from `offset` on lie in no block, and read as zeros. 0: there are none, or it is not
    // known.
    virtual std::uint64_t hole_at(std::uint64_t) const { return 0; }

    // Much of this range will be read next, in small pieces. What is fetched for that is kept as long as the result
    // lives, and where it need not be kept there is no result.
    virtual std::shared_ptr<void const> expect_reads(std::uint64_t, std::uint64_t) const { return {}; }

    // Everything written and reaped before is durable afterwards. Once it has failed it fails for ever: the kernel
    // forgets what it could not write.
    virtual void sync() = 0;

    // The queue refers to this storage and must not outlive it.
    virtual std::unique_ptr<WriteQueue> write_queue(std::size_t depth) = 0;
};

enum class Engine : std::uint8_t { automatic, uring, threads, posix };

// Throws base::UsageError for anything but "auto", "uring", "threads", "posix".
Engine parse_engine(std::string const& text);
std::string_view engine_name(Engine engine);

enum class OpenMode : std::uint8_t { create_new, read_write, read_only };

// A file of the file system. `automatic` takes direct I/O where statx(STATX_DIOALIGN) offers it on a real device
// (io_uring where the kernel and THALWEG_IO_URING let us, else threads), and buffered posix elsewhere. Asking for
// `uring` or `threads` where they do not work is a UsageError that says why. A file open for reading only is posix, and
// refuses every change.
std::unique_ptr<Storage> open_file_storage(std::string const& path, OpenMode mode, Engine engine = Engine::automatic);

// The same for a file at `path` that `file` has open for reading and writing; posix. It is not opened once more.
std::unique_ptr<Storage> open_file_storage(std::string const& path, base::FileDescriptor const& file);

struct MemoryOptions {
    // 0 keeps everything. Otherwise so much memory is allocated and touched at once (in multiples of 32 MiB) and used
    // round and round: only what was written last reads back. For measuring how fast something writes, because memory
    // touched for the first time costs many times the copy.
    std::uint64_t ring_bytes = 0;
};

// A file that lives in this process only, grown as needed.
std::unique_ptr<Storage> make_memory_storage(std::string const& name, MemoryOptions const& options = {});

} // namespace thalweg::storage
