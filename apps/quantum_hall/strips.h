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
    // These enclose everything else. `abort` ends the other ranks, too.
    static void start(int* argc, char*** argv);
    static void finish();
    static void abort(int exit_code);

    // Throws thalweg::base::UsageError if there are more ranks than rows. If the ranks do not divide the rows, the
    // first ranks have one row more.
    explicit Strips(System const& system);
    ~Strips();

    static int rank();
    static int ranks();
    std::int64_t first_row() const { return first_; }
    std::int64_t rows() const { return count_; }
    std::int64_t first_row_of(int rank) const;

    // Exchanges the rows to which the rows at both ends hop: one row of the last sublattice below, one row of the first
    // above. Between the two calls the rows of `wave` may be read, and rows inside the strip may be computed.
    void begin_exchange(Wave& wave);
    void end_exchange();

    void sum(std::span<double> values) const; // over all ranks; the same result on each
    bool any(bool value) const;               // whether it is true on any rank
    // For checkpoints.
    thalweg::ranks::Communicator& communicator() const { return *communicator_; }
    // Gathers the parts `mine` of all ranks on rank 0, in the order of the rows.
    void gather(std::span<double const> mine, std::span<double> all, std::int64_t doubles_a_row) const;

  private:
    struct Messages;

    std::int64_t all_rows_, first_ = 0, count_ = 0;
    std::unique_ptr<Messages> messages_;
    std::unique_ptr<thalweg::ranks::Communicator> communicator_;
};

} // namespace quantum_hall
