// The wave functions from which a trace is estimated.
#pragma once

#include <cstdint>
#include <string>

#include "lattice.h"
#include "strips.h"
#include "wave.h"

namespace quantum_hall {

enum class TraceKind {
    random, // random phases: an estimate, with an error
    all,    // every site: exact, for small systems
    cell, // one site of each sublattice: exact without disorder, as magnetic translations make all others equal to it,
          // on a torus that is much larger than what the moments see
};

struct Trace {
    TraceKind kind = TraceKind::random;
    std::int64_t random_vectors = 1;

    std::int64_t vectors(System const& system) const {
        if (kind == TraceKind::random) return random_vectors;
        return kind == TraceKind::all ? system.sites() : system.lattice.sublattices;
    }
    // Returns the factor of the sum over vectors.
    double weight(System const& system) const {
        if (kind == TraceKind::random) return 1.0 / static_cast<double>(random_vectors);
        return kind == TraceKind::all ? 1 : static_cast<double>(system.columns * system.rows);
    }
    void fill(System const& system, Strips const& strips, std::int64_t number, Wave& wave) const {
        if (kind == TraceKind::random) return wave.fill_random(system, strips, static_cast<std::uint64_t>(number));
        wave.fill_site(system, strips, number); // the sites of the first cell come first
    }
};

} // namespace quantum_hall
