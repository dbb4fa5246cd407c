// The communicator of the core, over an object of python/thalweg/_base/ranks.py.
#pragma once

#include <exception>
#include <nanobind/nanobind.h>
#include <vector>

#include "thalweg/ranks/communicator.h"

namespace thalweg::bind {

class PythonCommunicator final : public ranks::Communicator {
  public:
    explicit PythonCommunicator(nanobind::handle ranks);

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    std::vector<ranks::Bytes> gather(ranks::Bytes const& own) override;
    ranks::Bytes broadcast(ranks::Bytes const& of_rank_0) override;
    std::uint64_t exclusive_sum(std::uint64_t own) override;
    int first_rank_here() override;

  private:
    nanobind::object ranks_;
    int rank_;
    int size_;
};

// Returns an exception of Python as one of the core, with the same kind and text. Other ranks are told of it so.
std::exception_ptr as_thrown(nanobind::handle error);

} // namespace thalweg::bind
