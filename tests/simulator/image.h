// The bytes of a file. Copies share their pages until one of them is written, so keeping a state of a disk costs
// little.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace thalweg::simulator {

class Image {
  public:
    std::uint64_t size() const { return size_bytes_; }
    void read(std::uint64_t offset, std::span<std::byte> bytes) const; // returns zeros where nothing was written
    void write(std::uint64_t offset, std::span<std::byte const> bytes);
    void resize(std::uint64_t size_bytes);
    bool same_bytes(Image const& other) const;

  private:
    static constexpr std::uint64_t kPageBytes = 4096;
    using Page = std::array<std::byte, kPageBytes>;

    Page& page(std::uint64_t index);

    std::vector<std::shared_ptr<Page>> pages_; // nullptr: a hole
    std::uint64_t size_bytes_ = 0;
};

} // namespace thalweg::simulator
