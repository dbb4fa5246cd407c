// The answers on their way to one client. The socket gets at once what it accepts; the rest is kept for later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <sys/uio.h>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/readout/server/byte_buffer.h"

namespace thalweg::readout {

class Outbox {
  public:
    // Without a socket all answers stay here.
    Outbox(BufferPool& pool, base::FileDescriptor const* socket) : pool_(pool), socket_(socket) {}

    void add(ByteBuffer&& answer);
    void add_small(std::span<std::byte const> bytes); // small answers share a buffer
    // Sends the pieces from where they lie, and copies what the socket did not accept.
    void add_pieces(std::span<iovec> pieces);

    // Returns whether send_with_file() can work: the socket is one of this host, and nothing waits for it.
    bool can_pass_files() const;
    // Sends both at once, or nothing of them. Then it returns false.
    bool send_with_file(std::span<std::byte const> bytes, base::FileDescriptor const& file);

    void send();     // sends what the socket accepts
    void writable(); // the socket accepts more again

    std::uint64_t bytes() const { return bytes_; }     // unsent bytes
    std::uint64_t held_bytes() const { return held_; } // memory that holds the unsent bytes
    std::uint64_t sent_bytes() const { return sent_; } // bytes sent since the beginning
    bool empty() const { return bytes_ == 0; }
    bool blocked() const { return blocked_; } // true until the socket is writable
    bool broken() const { return broken_; }   // the client has gone
    std::span<std::byte const> front() const;
    void pop(std::size_t count);

  private:
    bool can_send() const { return socket_ != nullptr && !blocked_ && !broken_; }

    BufferPool& pool_;
    base::FileDescriptor const* socket_;
    std::deque<ByteBuffer> buffers_;
    std::size_t offset_ = 0; // bytes of the first buffer that were sent
    std::uint64_t bytes_ = 0;
    std::uint64_t held_ = 0;
    std::uint64_t sent_ = 0;
    bool blocked_ = false;
    bool broken_ = false;
};

} // namespace thalweg::readout
