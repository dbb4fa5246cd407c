// A file of the simulated disk that one process has opened.
#pragma once

#include <string>

#include "tests/simulator/world.h"
#include "thalweg/storage/storage.h"

namespace thalweg::simulator {

class VirtualFile final : public storage::Storage {
  public:
    VirtualFile(World& world, std::string path, std::uint64_t inode, bool read_only)
        : world_(world), path_(std::move(path)), inode_(inode), read_only_(read_only),
          failed_syncs_before_(failed_syncs()) {}

    std::string const& path() const override { return path_; }
    std::string engine() const override { return "simulated"; }
    void read(std::uint64_t offset, std::span<std::byte> bytes) const override;
    void write(std::uint64_t offset, std::span<std::byte const> bytes) override;
    std::uint64_t size() const override;
    void resize(std::uint64_t size_bytes) override;
    void reserve(std::uint64_t offset, std::uint64_t size_bytes) override;
    void give_back(std::uint64_t offset, std::uint64_t size_bytes) override;
    void sync() override;
    std::unique_ptr<storage::WriteQueue> write_queue(std::size_t depth) override;

  private:
    friend class VirtualQueue;

    bool has_room(std::uint64_t end) const;
    void check_writable(char const* verb) const;
    std::uint64_t failed_syncs() const; // on this machine, by any process

    World& world_;
    std::string path_;
    std::uint64_t inode_;
    bool read_only_;
    std::uint64_t failed_syncs_before_;
};

} // namespace thalweg::simulator
