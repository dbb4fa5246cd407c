// A file that is read as it was at one time: if it changes, reading it is an error.
#pragma once

#include <atomic>

#include "thalweg/storage/posix.h"

namespace thalweg::storage {

// What tells one content of a file from another without reading it.
struct FileStamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size_bytes = 0;
    std::int64_t mtime_ns = 0;

    bool operator==(FileStamp const&) const = default;
};

// The descriptor stays open, so a file that is renamed or replaced is still read as it was. What is written into the
// file itself changes its size or its time of modification.
class SteadyFile final : public PosixStorage {
  public:
    explicit SteadyFile(std::string path);

    // Returns the state with which the file was opened.
    FileStamp const& state() const { return state_; }

    // From now on, `read` compares. Until then the file may be one that its writer keeps readable while it grows.
    // Throws base::DataError if the file has changed already.
    void hold();
    // Throws base::DataError that names the file if it is held and has changed since it was opened.
    void check() const;

    void read(std::uint64_t offset, std::span<std::byte> bytes) const override;

  private:
    FileStamp state_;
    std::atomic<bool> is_held_ = false;
};

// Returns nothing in the simulator, whose files are not of this machine.
std::unique_ptr<SteadyFile> open_steady_file(std::string const& path);

} // namespace thalweg::storage
