// The seam by which the ranks of a job agree when they begin and end something together. It carries small facts and no
// payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace thalweg::ranks {

using Bytes = std::vector<std::byte>;

// All ranks call the same functions in the same order, each from one thread at a time. mpi_communicator.h has one over
// MPI; the library itself knows none.
class Communicator {
  public:
    virtual ~Communicator() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;

    // Returns on rank 0 what each rank gave, in their order, and nothing on the others.
    virtual std::vector<Bytes> gather(Bytes const& own) = 0;
    // Returns what rank 0 gave.
    virtual Bytes broadcast(Bytes const& of_rank_0) = 0;
    // Returns the sum of what all ranks below this one gave; 0 on rank 0.
    virtual std::uint64_t exclusive_sum(std::uint64_t own) = 0;

    // Returns the lowest rank on the machine of this one. All ranks call it.
    virtual int first_rank_here() { return 0; }

    // Returns a communicator for another thread, which may use it at the same time; null if that is not possible: then
    // the thread that waits for a `save_async` completes it. All ranks call it.
    virtual std::unique_ptr<Communicator> duplicate() { return nullptr; }
};

// Returns the communicator of a program that is its only rank.
std::unique_ptr<Communicator> alone();

} // namespace thalweg::ranks
