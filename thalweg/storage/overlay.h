// A file that is changed in memory alone: what is written is kept here, and everything else is read from the file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/storage/storage.h"

namespace thalweg::storage {

// Not for several threads until it has its last change; any number may read it from then on.
class Overlay final : public Storage {
  public:
    // The file up to `tail_begin`; what is written from there on replaces all that the file has there.
    Overlay(std::shared_ptr<Storage const> file, std::uint64_t tail_begin);

    std::string const& path() const override { return file_->path(); }
    std::string engine() const override { return "memory over " + file_->engine(); }

    // Bytes that the file did not have when this was made are zeros. Throws base::SystemError if the file has lost some
    // since.
    void read(std::uint64_t offset, std::span<std::byte> bytes) const override;
    void write(std::uint64_t offset, std::span<std::byte const> bytes) override;

    std::uint64_t size() const override { return tail_begin_ + tail_.size(); }
    // Throws base::UsageError for a size in front of the tail: the file itself is not cut.
    void resize(std::uint64_t size_bytes) override;
    void reserve(std::uint64_t offset, std::uint64_t size_bytes) override;
    void sync() override {} // nothing of it is durable
    std::unique_ptr<WriteQueue> write_queue(std::size_t depth) override;

    // The file itself, as it was opened.
    Storage const& file() const { return *file_; }
    // Returns how many bytes of it are in front of the tail.
    std::uint64_t file_bytes_in_front() const { return std::min(file_bytes_, tail_begin_); }
    // What was written from there on.
    std::span<std::byte const> tail() const { return tail_; }
    // The memory that its changes take.
    std::uint64_t changed_bytes() const;
    // Makes the same changes in `out`, which has the bytes of the file up to the tail.
    void write_changes_to(Storage& out) const;

  private:
    using Block = std::vector<std::byte>;

    void read_file(std::uint64_t offset, std::span<std::byte> bytes) const;
    Block& changed_block(std::uint64_t index);

    std::shared_ptr<Storage const> file_;
    std::uint64_t file_bytes_; // when this was made
    std::uint64_t tail_begin_;
    std::map<std::uint64_t, Block> blocks_; // in front of the tail, by index
    std::vector<std::byte> tail_;
};

} // namespace thalweg::storage
