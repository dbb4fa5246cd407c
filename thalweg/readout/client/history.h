// The events of a run that were handed on, as few ranges as possible: neighbouring ranges become one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace thalweg::readout {

class History {
  public:
    bool contains(std::uint64_t event) const;
    void add(std::uint64_t first, std::uint64_t end);
    // Forgets [first, end). Returns how many of these events were known.
    std::uint64_t remove(std::uint64_t first, std::uint64_t end);
    std::size_t size() const { return end_of_.size(); }

  private:
    std::map<std::uint64_t, std::uint64_t> end_of_; // by first event; ranges neither touch nor overlap
};

} // namespace thalweg::readout
