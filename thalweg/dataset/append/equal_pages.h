// Pages of one cluster that are equal, byte by byte as they are stored, lie in the file once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace thalweg::dataset {

// What was stored of the present cluster. Only small pages are kept, and not more of them than have room: those are
// what columns of lists have in common, and what constant ones become.
class EqualPages {
  public:
    static constexpr std::size_t kMostPageBytes = 16 << 10;
    static constexpr std::size_t kMostBytes = 4 << 20;

    // A place in the file, once the extent has one.
    struct Place {
        std::uint64_t extent = 0; // as their writer numbers them
        std::uint64_t offset = 0; // in it
    };

    void begin_cluster(std::uint64_t cluster);
    std::optional<Place> find(std::uint64_t checksum, std::span<std::byte const> stored) const;
    void add(std::uint64_t checksum, std::span<std::byte const> stored, Place const& place);

  private:
    struct Entry {
        std::size_t begin = 0; // in bytes_
        std::size_t size_bytes = 0;
        Place place;
    };

    std::uint64_t cluster_ = 0;
    std::unordered_multimap<std::uint64_t, Entry> entries_; // by checksum
    std::vector<std::byte> bytes_;                          // of all entries
};

} // namespace thalweg::dataset
