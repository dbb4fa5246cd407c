// For any bytes, cut anywhere: there is an answer or none, no control without the token, and an end. This tests the
// library together with the code around it. Build with -DTHALWEG_FUZZ=ON and clang.
#include "thalweg/monitor/exchanges.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/socket.h>

#include "thalweg/base/clock.h"

namespace {

using namespace thalweg;
using namespace thalweg::monitor;

constexpr int kTurns = 8;
constexpr std::uint64_t kPatienceNs = 10'000'000'000; // for another thread, which does what was asked for

std::atomic<bool> obeyed = false;

Exchanges make_exchanges() {
    HttpPages const pages{
        .metrics = [] { return std::vector<trace::Sample>{{.name = "answer", .help = "", .value = 42}}; },
        .unhealthy = [] { return std::string(); },
        .not_ready = [] { return std::string("no run yet"); },
        .control =
            [](auto const&, auto const&) {
                obeyed = true;
                return HttpAnswer{};
            }};
    return {pages, {HostNames({}, ""), "sesame"}, {}, [] {}};
}

void give(int socket, std::string_view bytes) {
    // Bytes beyond the socket's buffer are left out: no request is so long.
    (void)!::send(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::string taken(int socket) {
    std::array<char, 16'384> room;
    auto const got = ::recv(socket, room.data(), room.size(), MSG_DONTWAIT);
    return {room.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

} // namespace

// The first byte tells where the bytes are cut.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    static auto exchanges = make_exchanges();
    if (size < 1) return 0;
    std::string_view const whole(reinterpret_cast<char const*>(data) + 1, size - 1);
    auto const cut = whole.size() * data[0] / 255;
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0) std::abort();
    base::FileDescriptor client(ends[0]);
    exchanges.add(base::FileDescriptor(ends[1]), false);
    obeyed = false;
    give(client.get(), whole.substr(0, cut));
    exchanges.go_on();
    give(client.get(), whole.substr(cut));
    std::string answer;
    for (int i = 0; i < kTurns; ++i) {
        exchanges.go_on();
        answer += taken(client.get());
    }
    if (!answer.empty() && !answer.starts_with("HTTP/1.")) std::abort();
    client.reset();
    auto const end_ns = base::monotonic_ns() + kPatienceNs;
    for (int i = 0; i < kTurns || (exchanges.count() != 0 && base::monotonic_ns() < end_ns); ++i) exchanges.go_on();
    if (exchanges.count() != 0) std::abort(); // a client that has gone is forgotten
    // The library ends a method at its first zero, and decodes the bytes behind it, so "POST /control/" need not occur.
    if (obeyed && (whole.find("sesame") == whole.npos || whole.find("POST") == whole.npos)) std::abort();
    return 0;
}
