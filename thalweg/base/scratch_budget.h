// The memory that all readers of this process have for scratch: what they decode pages in, and not what they return.
#pragma once

#include <cstdint>

namespace thalweg::base {

inline constexpr char const* kReadMemoryVariable = "THALWEG_READ_MEMORY";

// Returns the budget of the process: what THALWEG_READ_MEMORY says, or 256 MiB. Throws UsageError if the variable is no
// size.
std::uint64_t read_memory_bytes();
void set_read_memory_bytes(std::uint64_t size_bytes);

// A share of the budget, held as long as this object lives. A thread holds one share at a time, and waits for no other
// thread meanwhile: otherwise two threads could wait for each other.
class ScratchShare {
  public:
    // Waits for it. A thread that wants more than the whole budget gets it once no other thread has any of it: a page
    // is decoded, however large it is.
    explicit ScratchShare(std::uint64_t size_bytes);
    ScratchShare(ScratchShare const&) = delete;
    ScratchShare& operator=(ScratchShare const&) = delete;
    ~ScratchShare();

    std::uint64_t held_bytes() const { return held_bytes_; }

    // Returns what all shares of the process hold together.
    static std::uint64_t held_in_process();

  private:
    std::uint64_t held_bytes_;
    std::uint64_t fork_generation_;
};

} // namespace thalweg::base
