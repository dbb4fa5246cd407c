// A file whose queued writes go past the page cache, straight from the producer's memory to the device.
#pragma once

#include "thalweg/storage/posix.h"

namespace thalweg::storage {

// Metadata keeps to the buffered descriptor of PosixStorage; the queues have one of their own, opened with O_DIRECT.
// The kernel keeps the two views coherent as long as no place is written through both at once. A place is whatever one
// folio of the page cache holds, up to some MiB around what any program has read: if a folio is dirty when a direct
// write into it ends, the kernel cannot drop it, and reports that as EIO at the next fdatasync. So what is written
// between the pages of an open run is written directly, too (`write_beside_queues`).
class DirectStorage final : public PosixStorage {
  public:
    // `engine` is uring, threads, or automatic: io_uring where the kernel lets us, else threads.
    DirectStorage(std::string path, OpenMode mode, Engine engine);

    std::string engine() const override;
    void write_beside_queues(std::uint64_t offset, std::span<std::byte const> bytes) override;
    std::unique_ptr<WriteQueue> write_queue(std::size_t depth) override;

  private:
    void read_until_end(std::uint64_t offset, std::span<std::byte> bytes) const;

    base::FileDescriptor direct_;
    Engine wanted_;
    std::string why_no_uring_; // never changes after the constructor
    std::atomic<bool> uring_;
};

} // namespace thalweg::storage
