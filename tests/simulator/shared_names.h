// Shared memory by name: it exists until the machine is restarted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace thalweg::simulator {

// One region of memory from which all segments of a simulated machine are cut, so that it is easy to see whether an
// address is shared. Each machine resets it.
class Arena {
  public:
    Arena();
    Arena(Arena const&) = delete;
    Arena& operator=(Arena const&) = delete;
    ~Arena();

    std::span<std::byte> take(std::size_t size_bytes); // zeroed
    void reset();
    bool contains(void const* address) const {
        return static_cast<std::size_t>(static_cast<std::byte const*>(address) - begin_) < kBytes;
    }

  private:
    static constexpr std::size_t kBytes = std::size_t{1} << 30;
    std::byte* begin_;
    std::size_t used_ = 0;
};

// A copy of all segments that have a name.
using MemoryState = std::map<std::string, std::vector<std::byte>>;

class SharedNames {
  public:
    SharedNames(Arena& arena, MemoryState const& state);

    std::map<std::string, std::span<std::byte>> segments;
    std::size_t limit_bytes = std::size_t{1} << 30; // size of /dev/shm

    // Throws base::SystemError if the name is taken, or there is no room. Without a name the memory belongs to one
    // process.
    std::span<std::byte> create(std::string const& name, std::size_t size_bytes);
    std::span<std::byte> attach(std::string const& name) const;
    // After the death of all processes the two are copies: no process writes there any more.
    void link(std::string const& name, std::string const& other);
    std::vector<std::string> list(std::string const& prefix) const;
    MemoryState state() const;
    bool contains(void const* address) const { return arena_.contains(address); }

  private:
    Arena& arena_;
};

} // namespace thalweg::simulator
