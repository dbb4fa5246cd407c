// Answers on their way to one client: written at once as far as the socket takes them, kept for later beyond that.
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
    // Without a socket everything stays here.
    Outbox(BufferPool& pool, base::FileDescriptor const* socket) : pool_(pool), socket_(socket) {}

    void add(ByteBuffer&& answer);
    void add_small(std::span<std::byte const> bytes); // joins others
    // Sends from where the pieces lie, and keeps a copy of what the socket did not take.
    void add_pieces(std::span<iovec> pieces);

    void send();     // as much as goes
    void writable(); // the socket takes more again

    std::uint64_t bytes() const { return bytes_; }     // that wait
    std::uint64_t held_bytes() const { return held_; } // the memory in which they do
    std::uint64_t sent_bytes() const { return sent_; } // since the beginning
    bool empty() const { return bytes_ == 0; }
    bool blocked() const { return blocked_; } // until the socket is writable
    bool broken() const { return broken_; }   // the client has gone
    std::span<std::byte const> front() const;
    void pop(std::size_t count);

  private:
    bool can_send() const { return socket_ != nullptr && !blocked_ && !broken_; }

    BufferPool& pool_;
    base::FileDescriptor const* socket_;
    std::deque<ByteBuffer> buffers_;
    std::size_t offset_ = 0; // of the first one: sent before
    std::uint64_t bytes_ = 0;
    std::uint64_t held_ = 0;
    std::uint64_t sent_ = 0;
    bool blocked_ = false;
    bool broken_ = false;
};

} // namespace thalweg::readout
