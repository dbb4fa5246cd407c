// Watches whether the file of an open run is still where it is said to be: it may be removed or moved meanwhile, and
// nothing that is written into an open file ever fails for that.
#pragma once

#include <cstdint>
#include <string>

#include "thalweg/base/file_descriptor.h"

namespace thalweg::dataset {

enum class FileState : std::uint8_t {
    in_place,
    moved,   // the file has another name
    removed, // it has none
    unknown, // the file system gives no answer
};

struct FilePlace {
    FileState state = FileState::in_place;
    std::string problem;  // empty: it is in its place. Otherwise what has happened, and how the data can be had
    std::string path;     // of the file by now; empty if that is not known
    std::string recovers; // the path of the file that the journal is beside by now; empty if that is not known
};

class FileWatch {
  public:
    // Both are there. They are kept open, so that what is in them can be had until this process ends.
    FileWatch(std::string path, std::string journal_path);

    // Costs a look at a name.
    FilePlace look() const;
    std::string problem() const { return look().problem; }

  private:
    FilePlace moved(std::string const& what) const;
    FilePlace removed(std::string const& what) const;
    std::string file_of_journal() const;

    std::string path_;
    std::string journal_path_;
    base::FileDescriptor file_;
    base::FileDescriptor journal_;
};

} // namespace thalweg::dataset
