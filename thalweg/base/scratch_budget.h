// The memory that all readers of this process have for scratch: what they decode pages in, and not what they return.
#pragma once

#include <cstdint>

namespace thalweg::base {

inline constexpr char const* kReadMemoryVariable = "THALWEG_READ_MEMORY";

// What there is for all of them. By default what THALWEG_READ_MEMORY says, else 256 MiB. Throws UsageError where that
// is no size.
std::uint64_t read_memory_bytes();
void set_read_memory_bytes(std::uint64_t size_bytes);

// So much of it, as long as this is there. A thread holds one at a time, and waits for nobody meanwhile: else two would
// wait for each other.
class ScratchShare {
  public:
    // Waits for it. Who wants more than all there is gets it once nobody else has any: a page is decoded, however large
    // it is.
    explicit ScratchShare(std::uint64_t size_bytes);
    ScratchShare(ScratchShare const&) = delete;
    ScratchShare& operator=(ScratchShare const&) = delete;
    ~ScratchShare();

    std::uint64_t held_bytes() const { return held_bytes_; }

    // Of all of them.
    static std::uint64_t held_in_process();

  private:
    std::uint64_t held_bytes_;
    std::uint64_t fork_generation_;
};

} // namespace thalweg::base
