// Measures one Chebyshev step with its two dot products, against a stream with the same traffic: a site reads 16 bytes
// of one wave function, reads and writes 16 of another and reads 8 of the potential. Usage: step COLUMNS ROWS ROUNDS.
// Prints a line of JSON per round: ns per site, of the slowest rank, for both, by CPU time and by the clock.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "chebyshev.h"

using namespace quantum_hall;

namespace {

constexpr int kStepsARound = 20;

struct Times {
    double cpu_s, clock_s;
};

Times now() {
    timespec cpu{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    auto const clock = std::chrono::steady_clock::now().time_since_epoch();
    return {static_cast<double>(cpu.tv_sec) + 1e-9 * static_cast<double>(cpu.tv_nsec),
            std::chrono::duration<double>(clock).count()};
}

// This is a separate function, so that it is compiled for memory at any address, like the step.
[[gnu::noinline]] void stream(double const* __restrict a, double* __restrict b, double const* __restrict c,
                              std::size_t sites) {
#pragma omp simd
    for (std::size_t i = 0; i < sites; ++i) {
        b[i] = 0.5 * a[i] + c[i] - b[i];
        b[sites + i] = 0.5 * a[sites + i] + c[i] - b[sites + i];
    }
}

template <class Work> Times timed(Strips const& strips, Work const& work) {
    strips.any(false); // all ranks begin together
    auto const begin = now();
    for (int step = 0; step < kStepsARound; ++step) work();
    auto const end = now();
    return {end.cpu_s - begin.cpu_s, end.clock_s - begin.clock_s};
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    Strips::start(&argc, &argv);
    {
        System system{lattice_named("honeycomb"), std::atoll(argv[1]), std::atoll(argv[2]), 8, 0.1, 1};
        Strips strips(system);
        Hamiltonian const hamiltonian(system, strips);
        Recurrence recurrence(hamiltonian);
        Wave start(system, strips);
        start.fill_random(system, strips, 0);
        recurrence.start(start);
        auto const sites = static_cast<std::size_t>(2 * system.columns * strips.rows());
        auto const a = allocate(2 * sites), b = allocate(2 * sites), c = allocate(sites);
        double sum = 0;
        for (int round = std::atoi(argv[3]); round > 0; --round) {
            auto const step = timed(strips, [&] { sum += recurrence.step().norm; });
            auto const copy = timed(strips, [&] { stream(a.get(), b.get(), c.get(), sites); });
            if (Strips::rank() != 0) continue;
            auto const scale = 1e9 / kStepsARound / static_cast<double>(sites);
            std::printf("{\"step_cpu\": %.4f, \"stream_cpu\": %.4f, \"step\": %.4f, \"stream\": %.4f}\n",
                        scale * step.cpu_s, scale * copy.cpu_s, scale * step.clock_s, scale * copy.clock_s);
            std::fflush(stdout);
        }
        if (sum == 0.5) std::puts("");
    }
    Strips::finish();
}
