// The input of rows, as users write it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace thalweg::source::raw {

// FILE, fd:N, tcp://HOST:PORT, unix:PATH, listen:[HOST:]PORT or udp://HOST:PORT, with ?option=value&option=value behind
// an address of the network:
//   reconnect=never|after-reset|always   of streams (tcp, unix, listen)
//   peer=HOST[:PORT]                     of udp: only datagrams from there count
//   buffer=SIZE                          of udp: the receive buffer that the kernel is asked for
struct InputAddress {
    enum class Kind : std::uint8_t { file, descriptor, tcp, unix_socket, listen, udp };
    enum class Reconnect : std::uint8_t { never, after_reset, always };

    Kind kind = Kind::file;
    std::string text;    // as it was given
    std::string place;   // the path, or [HOST:]PORT
    int descriptor = -1; // of fd:N
    Reconnect reconnect = Reconnect::after_reset;
    std::string peer; // empty: any
    std::uint64_t buffer_bytes = 64 << 20;
};

// Throws base::UsageError.
InputAddress parse_input(std::string_view text);

} // namespace thalweg::source::raw
