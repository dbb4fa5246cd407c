#include "thalweg/transport/poller.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thalweg/base/error.h"

namespace thalweg::transport {
namespace {

constexpr std::size_t kMostAtOnce = 256; // the kernel keeps turns: what did not fit comes first next time

epoll_event event_of(std::uint64_t key, bool read, bool write) {
    epoll_event event{};
    event.events = (read ? EPOLLIN : 0u) | (write ? EPOLLOUT : 0u);
    event.data.u64 = key;
    return event;
}

void control(base::FileDescriptor const& epoll, int operation, int fd, epoll_event event) {
    if (::epoll_ctl(epoll.get(), operation, fd, &event) != 0) {
        base::fail_system({"cannot watch the descriptor " + std::to_string(fd)}, errno);
    }
}

int wait_for(int epoll, std::span<epoll_event> events, std::uint64_t timeout_ns) {
    timespec const timeout{static_cast<time_t>(timeout_ns / 1'000'000'000),
                           static_cast<long>(timeout_ns % 1'000'000'000)};
    int const room = static_cast<int>(events.size());
    // Not by glibc's function, which is only in 2.35 and newer.
    auto const count = static_cast<int>(::syscall(SYS_epoll_pwait2, epoll, events.data(), room, &timeout, nullptr, 0));
    if (count >= 0 || (errno != ENOSYS && errno != EPERM)) return count;
    // Kernels before 5.11, and sandboxes that do not know the call: in whole milliseconds, never too early.
    auto const timeout_ms = timeout_ns / 1'000'000 + (timeout_ns % 1'000'000 != 0);
    return ::epoll_wait(epoll, events.data(), room, static_cast<int>(std::min<std::uint64_t>(timeout_ms, 1u << 30)));
}

} // namespace

Poller::Poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!epoll_ || !wake_) base::fail_system({"cannot make a poller"}, errno);
    control(epoll_, EPOLL_CTL_ADD, wake_.get(), event_of(kWakeKey, true, false));
    ready_.reserve(kMostAtOnce);
}

void Poller::add(int fd, std::uint64_t key, bool read, bool write) {
    control(epoll_, EPOLL_CTL_ADD, fd, event_of(key, read, write));
}

void Poller::change(int fd, std::uint64_t key, bool read, bool write) {
    control(epoll_, EPOLL_CTL_MOD, fd, event_of(key, read, write));
}

void Poller::remove(int fd) { control(epoll_, EPOLL_CTL_DEL, fd, {}); }

std::span<Ready const> Poller::wait(std::uint64_t timeout_ns) {
    std::array<epoll_event, kMostAtOnce> events;
    ready_.clear();
    int const count = wait_for(epoll_.get(), events, timeout_ns);
    if (count < 0 && errno != EINTR) base::fail_system({"cannot wait for sockets"}, errno);
    for (auto const& event : std::span(events).first(static_cast<std::size_t>(std::max(count, 0)))) {
        if (event.data.u64 == kWakeKey) {
            std::uint64_t calls = 0;
            [[maybe_unused]] auto const taken = ::read(wake_.get(), &calls, sizeof calls);
            continue;
        }
        ready_.push_back({.key = event.data.u64,
                          .readable = (event.events & EPOLLIN) != 0,
                          .writable = (event.events & EPOLLOUT) != 0,
                          .broken = (event.events & (EPOLLERR | EPOLLHUP)) != 0});
    }
    return ready_;
}

void Poller::wake() {
    std::uint64_t const one = 1;
    [[maybe_unused]] auto const written = ::write(wake_.get(), &one, sizeof one); // full: it is awake anyway
}

} // namespace thalweg::transport
