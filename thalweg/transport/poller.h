// Tells which of many sockets can go on: epoll, level-triggered, and an eventfd to wake it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/base/file_descriptor.h"

namespace thalweg::transport {

struct Ready {
    std::uint64_t key = 0;
    bool readable = false;
    bool writable = false;
    bool broken = false; // error or hang-up: told even where neither reading nor writing was asked for
};

// Every method but wake() belongs to one thread.
class Poller {
  public:
    static constexpr std::uint64_t kWakeKey = ~std::uint64_t{0}; // every other key is the caller's

    Poller(); // throws base::SystemError

    void add(int fd, std::uint64_t key, bool read = true, bool write = false);
    void change(int fd, std::uint64_t key, bool read, bool write);
    void remove(int fd);
    int fd() const { return epoll_.get(); } // readable while something is ready: pollers watch pollers

    // Waits up to `timeout_ns`; what is ready is valid until the next call. Empty: nothing came, or a wake, or a
    // signal.
    std::span<Ready const> wait(std::uint64_t timeout_ns);
    void wake(); // from any thread

  private:
    base::FileDescriptor epoll_;
    base::FileDescriptor wake_;
    std::vector<Ready> ready_;
};

} // namespace thalweg::transport
