// Connections that speak HTTP through libmicrohttpd (docs/decisions/0035), with one request and one answer each. All
// methods belong to one thread, and none of them waits: what may take long is done by a thread of its own, and the
// connection is suspended meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/monitor/answer.h"

namespace thalweg::monitor {

struct HttpLimits {
    std::size_t head_bytes = 16'384;             // limit of a request's head, and of the memory of a connection
    std::uint64_t connection_ns = 5'000'000'000; // from its beginning to the last byte
    std::size_t connections = 64;                // with one more, the oldest is ended
};

class Exchanges {
  public:
    // `wake` is called by another thread if go_on() has something to do. Throws base::SystemError.
    Exchanges(HttpPages pages, Access access, HttpLimits limits, std::function<void()> wake);
    ~Exchanges();
    void end(); // ends all connections, after the request that is being done; nothing else is called afterwards

    // `is_local` means that the peer runs as this user. Throws base::SystemError if no descriptor is left.
    void add(base::FileDescriptor const& socket, bool is_local);
    // Does what can be done now, and ends connections whose time is over.
    void go_on();

    int epoll() const;             // readable if there may be something to do
    std::uint64_t wait_ns() const; // go_on() must be called after so long
    std::size_t count() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace thalweg::monitor
