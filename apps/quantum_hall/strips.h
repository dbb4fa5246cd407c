// The rows of the torus, cut into strips: one for each rank of MPI, or all of them for the only process there is.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <thalweg/ranks/communicator.h>

#include "lattice.h"

namespace quantum_hall {

class Wave;

class Strips {
  public:
    // Around everything else. `abort` ends the other ranks, too.
    static void start(int* argc, char*** argv);
    static void finish();
    static void abort(int exit_code);

    // Throws thalweg::base::UsageError where there are more ranks than rows. The first ranks have one row more where
    // the ranks do not divide the rows.
    explicit Strips(System const& system);
    ~Strips();

    static int rank();
    static int ranks();
    std::int64_t first_row() const { return first_; }
    std::int64_t rows() const { return count_; }
    std::int64_t first_row_of(int rank) const;

    // What the rows at both ends hop to: one row of the last sublattice below, one row of the first above. Between the
    // two calls the rows of `wave` may be read, and rows inside of the strip can be worked on.
    void begin_exchange(Wave& wave);
    void end_exchange();

    void sum(std::span<double> values) const; // over all ranks, the same on each
    bool any(bool value) const;               // true on any rank
    // For checkpoints.
    thalweg::ranks::Communicator& communicator() const { return *communicator_; }
    // Of `mine`, what all ranks have, in the order of the rows, on rank 0.
    void gather(std::span<double const> mine, std::span<double> all, std::int64_t doubles_a_row) const;

  private:
    struct Messages;

    std::int64_t all_rows_, first_ = 0, count_ = 0;
    std::unique_ptr<Messages> messages_;
    std::unique_ptr<thalweg::ranks::Communicator> communicator_;
};

} // namespace quantum_hall
