// A new file that has no visible name until it is whole.
#pragma once

#include <functional>
#include <string_view>

#include "thalweg/storage/posix.h"

namespace thalweg::storage {

enum class CopyWay : std::uint8_t {
    shared,  // both files have the same blocks until one of them changes
    kernel,  // copied within the kernel
    through, // read and written
};
std::string_view name_of(CopyWay way);

// Without a name where the file system can: then nothing is left of it, however its process ends. Elsewhere it has a
// hidden one beside its place, which a killed process leaves there.
class UnpublishedFile final : public PosixStorage {
  public:
    explicit UnpublishedFile(std::string const& path);
    ~UnpublishedFile() override;

    // Past the page cache where the file system offers that: what is written so is not read again soon.
    std::string engine() const override;
    std::unique_ptr<WriteQueue> write_queue(std::size_t depth) override;

    // The first bytes of the open file `from`, which has as many. `between` is called between pieces, and may throw.
    CopyWay copy_from(Storage const& from, std::uint64_t size_bytes, std::function<void()> const& between);

    // Gives the file its name, durably. Throws base::UsageError where there is a file of that name, unless it may be
    // replaced.
    void publish(bool replace);

  private:
    struct Made {
        base::FileDescriptor file;
        std::string hidden; // its name; empty: it has none
    };
    static Made make(std::string const& path);
    UnpublishedFile(std::string const& path, Made made);
    void link_to(std::string const& path) const;

    std::string hidden_;
    base::FileDescriptor direct_; // none: queues go through the page cache
};

} // namespace thalweg::storage
