// What the ranks of a job say to each other when they begin and end something together. Small facts only: no payload.
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

    // On rank 0: what each rank gave, in their order. Nothing on the others.
    virtual std::vector<Bytes> gather(Bytes const& own) = 0;
    // What rank 0 gave.
    virtual Bytes broadcast(Bytes const& of_rank_0) = 0;
    // The sum of what all ranks below this one gave; 0 on rank 0.
    virtual std::uint64_t exclusive_sum(std::uint64_t own) = 0;

    // The lowest rank on the machine of this one. All ranks call it.
    virtual int first_rank_here() { return 0; }

    // For a thread beside this one, with which it may speak at the same time. Null where that is not possible: then
    // what `save_async` began is completed by the thread that waits for it. All ranks call it.
    virtual std::unique_ptr<Communicator> duplicate() { return nullptr; }
};

// Of a program that is its only rank.
std::unique_ptr<Communicator> alone();

} // namespace thalweg::ranks
