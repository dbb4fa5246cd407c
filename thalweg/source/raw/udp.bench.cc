// How many rows of 1 KiB, each a datagram, one thread takes in a second of its CPU time, with another thread that sends
// them as fast as it can or at a rate. Every datagram that was sent is taken or counted as dropped by the kernel, or
// the benchmark fails.
#include <benchmark/benchmark.h>
#include <ctime>
#include <fmt/format.h>
#include <sys/socket.h>
#include <thread>

#include "thalweg/base/clock.h"
#include "thalweg/base/units.h"
#include "thalweg/source/raw/readers.h"
#include "thalweg/transport/tcp.h"

namespace thalweg::source::raw {
namespace {

constexpr std::size_t kRowBytes = 1024;
constexpr std::uint64_t kDatagrams = 200'000;
constexpr std::size_t kTogether = 32; // sent with one call

Row numbered_row() {
    return {.fields = {{.name = "number", .role = RowField::Role::sequence, .scalar = model::Scalar::uint64},
                       {.name = "samples", .scalar = model::Scalar::uint16, .shape = {(kRowBytes - 8) / 2}}}};
}

void send_all(transport::Address const& to, std::uint64_t per_s) {
    base::FileDescriptor const socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ::connect(socket.get(), reinterpret_cast<sockaddr const*>(&to.storage), to.size_bytes);
    std::vector<std::byte> rows(kTogether * kRowBytes);
    std::vector<iovec> places(kTogether);
    std::vector<mmsghdr> messages(kTogether);
    for (std::size_t i = 0; i < kTogether; ++i) {
        places[i] = {.iov_base = rows.data() + i * kRowBytes, .iov_len = kRowBytes};
        messages[i].msg_hdr = {.msg_iov = &places[i], .msg_iovlen = 1};
    }
    auto const begin_ns = base::monotonic_ns();
    for (std::uint64_t sent = 0; sent < kDatagrams;) {
        auto const due = per_s == 0 ? kDatagrams : (base::monotonic_ns() - begin_ns) * per_s / base::kSecondNs;
        if (sent >= due) {
            std::this_thread::yield();
            continue;
        }
        auto const count = std::min<std::uint64_t>(kTogether, kDatagrams - sent);
        for (std::uint64_t i = 0; i < count; ++i) {
            auto const number = sent + i;
            std::memcpy(rows.data() + i * kRowBytes, &number, sizeof number);
        }
        auto const done = ::sendmmsg(socket.get(), messages.data(), static_cast<unsigned>(count), 0);
        if (done > 0) sent += static_cast<std::uint64_t>(done);
    }
}

double cpu_s() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void take_datagrams(benchmark::State& state) {
    std::uint64_t taken = 0, dropped = 0;
    for (auto _ : state) {
        auto const at = transport::listen_at(transport::parse_address("127.0.0.1:0")).address;
        auto const reader = open_datagrams(numbered_row(), parse_input(fmt::format("udp://{}", at.str())));
        std::jthread const sender(send_all, at, static_cast<std::uint64_t>(state.range(0)));
        auto const begin_s = cpu_s();
        Counters counters;
        while (counters.rows + counters.named["lost_by_kernel"] < kDatagrams) {
            Batch batch;
            if (!reader->next(batch, base::monotonic_ns() + base::kSecondNs)) {
                counters = reader->counters();
                if (counters.rows + counters.named["lost_by_kernel"] < kDatagrams)
                    return state.SkipWithError("datagrams are neither taken nor counted as dropped");
            }
            benchmark::DoNotOptimize(batch.columns.data());
            counters.rows = reader->counters().rows;
        }
        state.SetIterationTime(cpu_s() - begin_s);
        counters = reader->counters();
        taken += counters.rows, dropped += counters.named["lost_by_kernel"];
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(taken));
    state.counters["dropped"] = static_cast<double>(dropped);
}
BENCHMARK(take_datagrams)
    ->Arg(0)
    ->Arg(100'000)
    ->Arg(400'000)
    ->UseManualTime()
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);

} // namespace
} // namespace thalweg::source::raw
