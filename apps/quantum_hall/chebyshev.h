// Chebyshev polynomials of the Hamiltonian on a wave function: T_0 = 1, T_1 = h, T_{m+1} = 2 h T_m - T_{m-1}
// (A. Weisse, G. Wellein, A. Alvermann, H. Fehske, Rev. Mod. Phys. 78, 275 (2006), called KPM below).
#pragma once

#include <vector>

#include "hamiltonian.h"
#include "wave.h"

namespace quantum_hall {

// Computes T_m(h) on the wave function that it was started with, for m = 0, 1, 2, ...
class Recurrence {
  public:
    explicit Recurrence(Hamiltonian const& hamiltonian);

    void start(Wave const& wave);
    Sums step(); // goes to the next m; returns this rank's part of <T_m|T_m> and Re <T_m|T_{m-1}>
    Wave& current() { return current_; }

  private:
    Hamiltonian const& hamiltonian_;
    Operator once_;
    Wave current_, previous_;
    bool at_zero_ = true;
};

// Returns <start| T_m(h) |start> for m < count, two for each step: T_2m = 2 T_m T_m - 1, T_{2m-1} = 2 T_m T_{m-1} - T_1
// (KPM, eq. 36). The result is the same on all ranks.
std::vector<double> moments(Recurrence& recurrence, Strips const& strips, Wave const& start, std::size_t count);

} // namespace quantum_hall
