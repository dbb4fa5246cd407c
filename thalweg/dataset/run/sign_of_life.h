// Whether another node still writes: its journal grows with every flush, whatever it has to journal.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "thalweg/storage/storage.h"

namespace thalweg::dataset {

class SignOfLife {
  public:
    // `path`: of a file that grows while its node lives.
    explicit SignOfLife(std::string path);

    // How long the file has been as it is, as far as this object has looked; clocks of nodes are not compared.
    std::uint64_t silent_ns();

  private:
    std::string path_;
    std::uint64_t size_bytes_ = 0;
    std::uint64_t changed_ns_;
};

} // namespace thalweg::dataset
