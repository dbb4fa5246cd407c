// The names of a checkpoint: `path` is the last one, `path.1` the one before, and so on.
#pragma once

#include <string>
#include <vector>

#include "thalweg/base/file_descriptor.h"

namespace thalweg::checkpoint {

// Returns all that are there, the newest first.
std::vector<std::string> kept_files(std::string const& path);

// A file beside `path` that becomes it. Of rank 0.
class NewFile {
  public:
    // Makes an empty file, locked for as long as this lives, and removes what killed saves have left. Throws
    // base::UsageError if another program's file would be overwritten, and base::SystemError if another job saves to
    // `path` at this moment.
    NewFile(std::string const& path, std::string const& id, unsigned keep);
    NewFile(NewFile const&) = delete;
    NewFile& operator=(NewFile const&) = delete;
    ~NewFile();

    std::string const& path() const { return own_; }

    // Gives it the name `path`, durably, and older ones the next name each, of which `keep` - 1 stay. `path` is there
    // at every moment.
    void publish();

  private:
    void remove_remnants() const;
    void check_it_is_there() const;

    std::string path_;
    std::string own_;
    unsigned keep_;
    base::FileDescriptor lock_;
    bool is_published_ = false;
};

} // namespace thalweg::checkpoint
