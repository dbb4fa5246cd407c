// A UDP socket from which datagrams are received, many with one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/shared_number.h"
#include "thalweg/source/raw/input_address.h"

namespace thalweg::source::raw {

struct Datagram {
    std::size_t offset = 0; // in the memory of the socket
    std::size_t size_bytes = 0;
    sockaddr_storage const* sender = nullptr;
};

class UdpSocket {
  public:
    // Throws base::SystemError if the address cannot be used.
    explicit UdpSocket(InputAddress const& address);

    // Receives what is there. The datagrams and their bytes stay until the next call.
    std::span<Datagram const> receive();
    std::byte const* memory() const { return memory_.get(); }
    base::FileDescriptor const& descriptor() const { return socket_; }

    // Returns the size of the receive buffer as the kernel has it: it counts more than the bytes of the datagrams.
    std::uint64_t buffer_bytes() const { return buffer_bytes_; }
    // Returns how many bytes of it are used. Throws base::SystemError if the kernel does not answer.
    std::uint64_t waiting_bytes() const;
    // Returns how many datagrams the kernel has dropped, because the buffer was full. Any thread may ask.
    std::uint64_t dropped() const { return dropped_.get(); }
    // Asks the kernel, which else says it only with the next datagram. Throws base::SystemError if it does not answer.
    void look_at_drops();

  private:
    void set_buffer(std::uint64_t bytes);
    void take_drops(std::uint32_t now);
    std::uint32_t number_of_buffer(std::size_t which) const; // SK_MEMINFO_...

    base::FileDescriptor socket_;
    std::uint64_t buffer_bytes_ = 0;
    std::unique_ptr<std::byte[]> memory_;
    std::vector<mmsghdr> messages_;
    std::vector<iovec> places_;
    std::vector<sockaddr_storage> senders_;
    std::vector<Datagram> received_;
    alignas(cmsghdr) std::byte control_[64];
    std::uint32_t seen_drops_ = 0; // the kernel's counter has 32 bits
    base::SharedNumber dropped_;
};

} // namespace thalweg::source::raw
