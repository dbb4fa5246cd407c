// A file that is only read: the base of storages that can do nothing else.
#pragma once

#include "thalweg/base/error.h"
#include "thalweg/storage/storage.h"

namespace thalweg::storage {

class ReadOnly : public Storage {
  public:
    void write(std::uint64_t, std::span<std::byte const>) override { refuse(); }
    void resize(std::uint64_t) override { refuse(); }
    void reserve(std::uint64_t, std::uint64_t) override { refuse(); }
    void sync() override { refuse(); }
    std::unique_ptr<WriteQueue> write_queue(std::size_t) override { refuse(); }

  private:
    [[noreturn]] void refuse() const { base::fail_usage({path() + " cannot be changed", "it is open for reading"}); }
};

} // namespace thalweg::storage
