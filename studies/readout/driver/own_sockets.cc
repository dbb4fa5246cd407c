#include "studies/readout/driver/own_sockets.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>

namespace thalweg::study {
namespace {

std::optional<tcp_info> information_of(int fd) {
    tcp_info found{};
    socklen_t size = sizeof found;
    constexpr std::uint8_t kEstablished = 1;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &found, &size) != 0 || found.tcpi_state != kEstablished)
        return std::nullopt;
    return found;
}

std::uint64_t pacing_of(int fd) {
    std::uint64_t rate = 0;
    socklen_t size = sizeof rate;
    return ::getsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, &size) == 0 ? rate : 0;
}

} // namespace

OwnSockets look_at_own_sockets() {
    OwnSockets all{.least_timer_us = ~0ull, .least_pacing_bytes_s = ~0ull};
    for (auto const& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        auto const name = entry.path().filename().string();
        int fd = -1;
        std::from_chars(name.data(), name.data() + name.size(), fd);
        auto const found = information_of(fd);
        if (!found) continue;
        auto const pacing = pacing_of(fd);
        ++all.connected;
        all.retransmissions += found->tcpi_total_retrans;
        all.least_timer_us = std::min<std::uint64_t>(all.least_timer_us, found->tcpi_rto);
        all.least_pacing_bytes_s = std::min(all.least_pacing_bytes_s, pacing);
        all.most_pacing_bytes_s = std::max(all.most_pacing_bytes_s, pacing);
    }
    return all;
}

Json json_of(OwnSockets const& sockets) {
    return {{"connected", sockets.connected},
            {"retransmissions", sockets.retransmissions},
            {"least_timer_us", sockets.least_timer_us},
            {"least_pacing_bytes_s", sockets.least_pacing_bytes_s},
            {"most_pacing_bytes_s", sockets.most_pacing_bytes_s}};
}

void allow_many_files() {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
}

} // namespace thalweg::study
