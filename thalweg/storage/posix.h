// A file through the page cache: pread, pwrite, fdatasync.
#pragma once

#include <atomic>
#include <cerrno>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/storage/storage.h"

namespace thalweg::storage {

// Calls `call` again for as long as a signal interrupts it; an errno, or 0.
template <class Call> int uninterrupted(Call const& call) {
    while (call() != 0) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

// pwrite until all is written; an errno, or 0.
int write_all(int fd, std::uint64_t offset, std::span<std::byte const> bytes);

class PosixStorage : public Storage {
  public:
    PosixStorage(std::string path, OpenMode mode);
    // Takes a file that is open already.
    PosixStorage(std::string path, OpenMode mode, base::FileDescriptor file);

    std::string const& path() const override { return path_; }
    std::string engine() const override { return "posix"; }

    void read(std::uint64_t offset, std::span<std::byte> bytes) const override;
    void write(std::uint64_t offset, std::span<std::byte const> bytes) override;
    std::uint64_t size() const override;
    void resize(std::uint64_t size_bytes) override;
    void reserve(std::uint64_t offset, std::uint64_t size_bytes) override;
    void give_back(std::uint64_t offset, std::uint64_t size_bytes) override;
    std::uint64_t hole_at(std::uint64_t offset) const override;
    std::shared_ptr<void const> expect_reads(std::uint64_t offset, std::uint64_t size_bytes) const override;
    void sync() override;
    std::unique_ptr<WriteQueue> write_queue(std::size_t depth) override;

    // For system calls on the file itself; it stays this object's.
    int descriptor() const { return file_.get(); }

  protected:
    void check_writable() const;

  private:
    int allocate(std::uint64_t offset, std::uint64_t end) const; // an errno, or 0
    bool is_on_tmpfs() const;
    bool has_too_little(std::uint64_t more_bytes) const;

    std::string path_;
    OpenMode mode_;
    base::FileDescriptor file_;
    std::atomic<int> sync_error_ = 0;
};

} // namespace thalweg::storage
