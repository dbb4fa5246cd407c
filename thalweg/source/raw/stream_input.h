// Reads the bytes of one connection after the other, and notes whether its sender has to wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/shared_number.h"
#include "thalweg/source/raw/connections.h"
#include "thalweg/source/raw/input_address.h"

namespace thalweg::source::raw {

class StreamInput {
  public:
    enum class State : std::uint8_t {
        some,    // bytes have come
        nothing, // none have come before the deadline
        broken,  // the connection has ended: no byte of the next one belongs to a row of this one
        ended,   // no bytes will come any more
    };

    explicit StreamInput(InputAddress const& address);

    // Puts bytes into `room`, `count` of them.
    State read(std::span<std::byte> room, std::size_t& count, std::uint64_t deadline_ns);
    // Returns what ended the input if it was no orderly end, or an empty text.
    std::string const& problem() const { return problem_; }

    // Any thread may ask for these.
    std::uint64_t reconnects() const { return reconnects_.get(); }
    std::uint64_t refused_connections() const { return refused_.get(); }
    std::uint64_t reads() const { return reads_.get(); }
    std::uint64_t full_reads() const { return full_reads_.get(); } // found the buffer of the input full
    bool can_come_again() const {
        using Kind = InputAddress::Kind;
        return address_.kind == Kind::tcp || address_.kind == Kind::unix_socket || address_.kind == Kind::listen;
    }

  private:
    bool connect(std::uint64_t deadline_ns);
    State end(int error);
    void look_how_full();

    InputAddress address_;
    std::unique_ptr<Connections> connections_;
    base::FileDescriptor connection_;
    bool is_file_ = false;         // of a disk: it is always full, and its sender waits for nothing
    std::uint64_t full_bytes_ = 0; // if so many bytes wait, the buffer of the connection is full
    std::uint64_t connected_ = 0;  // how often
    std::string problem_;
    base::SharedNumber reconnects_, refused_, reads_, full_reads_;
};

} // namespace thalweg::source::raw
