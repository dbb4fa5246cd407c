// The names of a checkpoint: `path` is the last one, `path.1` the one before, and so on. A number that a file of others
// has is passed over.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/checkpoint/saved_list.h"

namespace thalweg::checkpoint {

// Returns the path to which symbolic links lead, even if there is no file yet. Throws base::SystemError (ELOOP).
std::string behind_links(std::string const& path);

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

    // Gives it the name `path`, durably, and older ones the next number each, of which `keep` - 1 stay. `path` is there
    // at every moment, if it was there before. Nothing is removed or replaced but what saves to `path` have made.
    void publish();

    // Returns sentences about what was found damaged and is replaced.
    std::vector<std::string> const& problems() const { return problems_; }

  private:
    void check_names() const;
    void remove_remnants() const;
    void check_it_is_there() const;
    void take_over_mode() const;
    std::vector<std::uint64_t> chain() const;
    void shift(std::vector<std::uint64_t> const& chain) const;
    std::optional<Saved> made_by_saves(std::string const& file) const;
    std::vector<std::uint64_t> begin_list();
    void end_list();
    std::string helper(std::string_view ending) const;

    std::string path_;
    std::string own_;
    unsigned keep_;
    SavedList list_;
    std::vector<std::string> problems_;
    std::optional<struct stat> replaced_; // the file that had the name when the save began
    base::FileDescriptor lock_;
    bool is_published_ = false;
};

} // namespace thalweg::checkpoint
