// Connections that speak HTTP, by libmicrohttpd (docs/decisions/0035): one request and one answer each. All of its
// methods belong to one thread, and none of them waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/monitor/answer.h"

namespace thalweg::monitor {

struct HttpLimits {
    std::size_t head_bytes = 16'384;             // of a request, and of all else that is kept of a connection
    std::uint64_t connection_ns = 5'000'000'000; // from its beginning to the last byte
    std::size_t connections = 64;                // one more, and the oldest is ended
};

class Exchanges {
  public:
    Exchanges(Pages pages, Access access, HttpLimits limits); // throws base::SystemError
    ~Exchanges();                                             // ends all of them

    // `is_local`: it is known that its owner is ours. Throws base::SystemError where no descriptor is left.
    void add(base::FileDescriptor const& socket, bool is_local);
    // Whatever can be done now. Ends those whose time is over.
    void go_on();

    int epoll() const;             // readable when there may be something to do
    std::uint64_t wait_ns() const; // go_on() has something to do then at the latest
    std::size_t count() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace thalweg::monitor
