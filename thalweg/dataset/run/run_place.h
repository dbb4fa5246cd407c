// Where a run is: its data file, and the journal beside it. Paths, names, locks and beginnings are asked for here.
#pragma once

#include <optional>
#include <string>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/dataset/journal/journal.h"

namespace thalweg::dataset {

class RunPlace {
  public:
    explicit RunPlace(std::string data_path) : data_(std::move(data_path)) {}

    std::string const& data() const { return data_; }
    std::string journal() const { return journal_path(data_); }
    bool has_journal() const { return exists(journal()); }

    base::FileDescriptor lock_shared() const;
    // Throws base::UsageError where a participant of the run is alive.
    base::FileDescriptor lock_exclusive() const;

    // Throws base::SystemError: ENOENT where there is none, EEXIST where one is to be made and there is one.
    JournalFiles open_journal(storage::OpenMode mode) const;
    // The run that it belongs to; nothing where it cannot be read.
    std::optional<std::string> run_id() const;
    // There is a journal, and it is of this run or cannot be read: so that of another run proves nothing.
    bool may_be_of(std::string const& run_id) const;

    // The file at `data` is the one that the journal was begun for: not a copy of it. A renamed one is.
    bool is_original(JournalPreamble const& preamble) const;

    // The journal was left by a creation that died: nothing was recorded.
    bool is_stub() const;
    // Removes it, and the data file where that creation had begun one. Throws base::UsageError where it is somebody
    // else's. The place must be locked.
    void clear_stub() const;

    // Removes the journal with all its segments, durably.
    void remove_journal() const;
    void remove_later_segments() const;

  private:
    bool is_begun_and_no_more() const;

    std::string data_;
};

} // namespace thalweg::dataset
