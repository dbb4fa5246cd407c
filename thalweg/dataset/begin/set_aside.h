// What lies at the place of a new run stays under another name until the new run is there.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "thalweg/base/file_descriptor.h"

namespace thalweg::dataset {

// A file, or an unfinished run with its journals, that a new run replaces. If the process dies before it is discarded,
// it lies beside the new run, as ".replaced-PID.0-run.h5", and can be renamed back.
class SetAside {
  public:
    // Renames what is at `path`; nothing happens if nothing is there. Throws base::UsageError if it is a directory, or
    // a run that is still being written, and base::SystemError if it cannot be renamed: all is then as it was.
    explicit SetAside(std::string const& path);
    ~SetAside() { restore(); }
    SetAside(SetAside const&) = delete;
    SetAside& operator=(SetAside const&) = delete;

    // Gives it its name again, unless it was discarded. Says on stderr what cannot have it: another process may have
    // put something there.
    void restore() noexcept;
    // Removes it, with the memory of the run, once the new run is there. Says on stderr what cannot be removed.
    void discard();

  private:
    std::string path_;
    std::string data_; // the file of the run under its new name; empty if it is no run
    std::vector<std::pair<std::string, std::string>> renamed_; // from, to
    std::vector<base::FileDescriptor> locks_;                  // of the run, until it is gone
};

} // namespace thalweg::dataset
