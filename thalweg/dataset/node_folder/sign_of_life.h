// Signs that another node still writes: a file of its own grows with every flush. (The size of a journal tells nothing:
// room for it is reserved ahead.)
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "thalweg/storage/storage.h"

namespace thalweg::dataset {

// Makes that file grow, by nothing, for which a full disk has room.
class Heartbeat {
  public:
    explicit Heartbeat(std::string path) : path_(std::move(path)) {}

    // If it cannot be done, that is said. Only if it stays so, the others will say that this node is silent.
    void beat();

  private:
    void open();

    std::string path_;
    std::unique_ptr<storage::Storage> file_;
    std::uint64_t beats_ = 0;
    bool has_failed_ = false; // the last one
};

class SignOfLife {
  public:
    // `path`: of a file that grows while its node lives.
    explicit SignOfLife(std::string path);

    // Returns how long the file has been as it is, as far as this object has looked; clocks of nodes are not compared.
    // A look that fails says nothing: from then on the time counts anew.
    std::uint64_t silent_ns();

  private:
    std::string path_;
    std::uint64_t size_bytes_ = 0;
    std::uint64_t changed_ns_;
};

} // namespace thalweg::dataset
