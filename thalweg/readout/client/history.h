// Which events of a run were handed on: as few ranges as possible, because neighbours become one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace thalweg::readout {

class History {
  public:
    bool contains(std::uint64_t event) const;
    void add(std::uint64_t first, std::uint64_t end);
    // Forgets [first, end), and tells how many of them were known.
    std::uint64_t remove(std::uint64_t first, std::uint64_t end);
    std::size_t size() const { return end_of_.size(); }

  private:
    std::map<std::uint64_t, std::uint64_t> end_of_; // by first; they neither touch nor overlap
};

} // namespace thalweg::readout
