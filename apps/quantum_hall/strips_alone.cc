// Strips without MPI: one process has all rows and is its own neighbour.
#include "strips.h"

#include <algorithm>
#include <cstdlib>

#include "wave.h"

namespace quantum_hall {

struct Strips::Messages {};

void Strips::start(int*, char***) {}
void Strips::finish() {}
void Strips::abort(int exit_code) { std::_Exit(exit_code); }
int Strips::rank() { return 0; }
int Strips::ranks() { return 1; }

Strips::Strips(System const& system)
    : all_rows_(system.rows), count_(system.rows), communicator_(thalweg::ranks::alone()) {}
Strips::~Strips() = default;

std::int64_t Strips::first_row_of(int rank) const { return rank == 0 ? 0 : all_rows_; }

void Strips::begin_exchange(Wave& wave) {
    auto const last = wave.sublattices() - 1;
    std::ranges::copy(wave.whole_row(last, count_ - 1), wave.whole_row(last, -1).begin());
    std::ranges::copy(wave.whole_row(0, 0), wave.whole_row(0, count_).begin());
}
void Strips::end_exchange() {}

void Strips::sum(std::span<double>) const {}
bool Strips::any(bool value) const { return value; }
void Strips::gather(std::span<double const> mine, std::span<double> all, std::int64_t) const {
    std::ranges::copy(mine, all.begin());
}

} // namespace quantum_hall
