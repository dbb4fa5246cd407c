#include "thalweg/source/raw/udp_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fmt/format.h>
#include <linux/sock_diag.h>

#include "thalweg/base/error.h"
#include "thalweg/transport/address.h"

namespace thalweg::source::raw {
namespace {

constexpr std::size_t kDatagrams = 128; // received with one call
constexpr std::size_t kDatagramBytes = 64 << 10;
// The places of the datagrams do not begin at equal addresses modulo 64 KiB, which would share few lines of the cache.
constexpr std::size_t kStrideBytes = kDatagramBytes + 4096 + 64;

} // namespace

UdpSocket::UdpSocket(InputAddress const& address)
    : memory_(std::make_unique_for_overwrite<std::byte[]>(kDatagrams * kStrideBytes)), messages_(kDatagrams),
      places_(kDatagrams), senders_(kDatagrams) {
    auto const at = transport::parse_address(address.place);
    socket_ = base::FileDescriptor(::socket(at.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_) base::fail_system({"cannot make a UDP socket"}, errno);
    set_buffer(address.buffer_bytes);
    int const on = 1;
    if (::setsockopt(socket_.get(), SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on) != 0)
        base::fail_system({"the kernel does not count the datagrams that it drops"}, errno);
    if (::bind(socket_.get(), reinterpret_cast<sockaddr const*>(&at.storage), at.size_bytes) != 0)
        base::fail_system({fmt::format("cannot receive at {}", address.text)}, errno);
    for (std::size_t i = 0; i < kDatagrams; ++i) {
        places_[i] = {.iov_base = memory_.get() + i * kStrideBytes, .iov_len = kDatagramBytes};
        messages_[i].msg_hdr = {.msg_name = &senders_[i], .msg_iov = &places_[i], .msg_iovlen = 1};
    }
}

// A process with the privilege gets what it asks for, another one no more than net.core.rmem_max.
void UdpSocket::set_buffer(std::uint64_t bytes) {
    int const wanted = static_cast<int>(std::min<std::uint64_t>(bytes, INT_MAX / 2));
    if (::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &wanted, sizeof wanted) != 0)
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &wanted, sizeof wanted);
    int got = 0;
    socklen_t size = sizeof got;
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &got, &size) != 0)
        base::fail_system({"cannot read the size of the receive buffer"}, errno);
    buffer_bytes_ = static_cast<std::uint64_t>(got) / 2; // the kernel doubles what is asked, for its own use
}

std::span<Datagram const> UdpSocket::receive() {
    for (auto& message : messages_) message.msg_hdr.msg_namelen = sizeof(sockaddr_storage);
    messages_[0].msg_hdr.msg_control = control_; // one counter for all of them is enough
    messages_[0].msg_hdr.msg_controllen = sizeof control_;
    received_.clear();
    auto const count = ::recvmmsg(socket_.get(), messages_.data(), kDatagrams, MSG_DONTWAIT, nullptr);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    if (count < 0) base::fail_system({"cannot receive datagrams"}, errno);
    auto& first = messages_[0].msg_hdr;
    for (auto* header = CMSG_FIRSTHDR(&first); header != nullptr; header = CMSG_NXTHDR(&first, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SO_RXQ_OVFL) continue;
        std::uint32_t drops = 0;
        std::memcpy(&drops, CMSG_DATA(header), sizeof drops);
        take_drops(drops);
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
        received_.push_back({i * kStrideBytes, messages_[i].msg_len, &senders_[i]});
    return received_;
}

void UdpSocket::take_drops(std::uint32_t now) {
    dropped_.add(now - seen_drops_);
    seen_drops_ = now;
}

void UdpSocket::look_at_drops() { take_drops(number_of_buffer(SK_MEMINFO_DROPS)); }

std::uint64_t UdpSocket::waiting_bytes() const { return number_of_buffer(SK_MEMINFO_RMEM_ALLOC); }

std::uint32_t UdpSocket::number_of_buffer(std::size_t which) const {
    std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
    socklen_t size = sizeof memory;
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_MEMINFO, memory.data(), &size) != 0)
        base::fail_system({"cannot read what the receive buffer holds and what was dropped"}, errno);
    return memory[which];
}

} // namespace thalweg::source::raw
