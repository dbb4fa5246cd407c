// RunPlace answers where a run is: its data file and its journals. The journal of a run of one node is beside the file.
// In a run of several nodes each node has one, in a folder. Paths, names, locks and beginnings are asked for here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/node_folder/parts_folder.h"

namespace thalweg::dataset {

struct LockedJournal {
    JournalFiles files;
    base::FileDescriptor lock; // exclusive
};

// The place of one node, which is all of a run that has one node.
class RunPlace {
  public:
    // `data_path` may be a link to the file: the journal is beside the file.
    RunPlace(std::string const& data_path, NodeOfRun const& node = {})
        : data_(base::behind_links(data_path)), node_(node) {}

    std::string const& data() const { return data_; }
    NodeOfRun const& node() const { return node_; }
    bool is_of_many() const { return node_.nodes > 1; }
    PartsFolder parts() const { return PartsFolder(data_); }
    std::string journal() const { return is_of_many() ? parts().journal(node_.node) : journal_path(data_); }
    bool has_journal() const { return exists(journal()); }

    base::FileDescriptor lock_shared() const;
    // Throws base::UsageError if a participant of the run is alive.
    base::FileDescriptor lock_exclusive() const;

    // Throws base::SystemError: ENOENT if there is none, EEXIST if one is to be made and there is one.
    JournalFiles open_journal(storage::OpenMode mode) const;
    // Opens it once, for reading and writing and for the lock. Throws as `lock_exclusive`. The lock lasts until both
    // are closed.
    LockedJournal open_locked_journal() const;
    // The run that it belongs to; nothing where it cannot be read.
    std::optional<std::string> run_id() const;
    // There is a journal, and it is of this run or cannot be read: so that of another run proves nothing.
    bool may_be_of(std::string const& run_id) const;

    // The file at `data` is the one that the journal was begun for: not a copy of it. A renamed one is.
    bool is_original(JournalPreamble const& preamble) const;

    // Returns true if the journal was left by a creation that died: nothing was recorded, and nothing is in memory.
    // Throws base::DataError if the journal has no whole beginning, and the data file shows that there was more.
    bool is_stub(JournalFiles const& journal) const;
    bool is_stub() const { return is_stub(open_journal(storage::OpenMode::read_only)); }
    // Removes it, and the data file if that creation had begun one. Throws as `is_stub`. The place must be locked.
    void clear_stub() const;

    // Removes the journal with all its segments, durably: of all nodes.
    void remove_journal() const;
    void remove_later_segments() const;

  private:
    bool is_elsewhere(JournalPreamble const& preamble) const;
    bool is_begun_and_no_more() const;
    void check_only_begun() const;

    std::string data_;
    NodeOfRun node_;
};

// Returns the places of the run that is there, one for each node that has a journal; none if there is no run. Throws
// base::DataError if there is a folder of journals without that of the first node, which says what the others are.
std::vector<RunPlace> places_of_run(std::string const& data_path);

// Returns true if the file is there, complete and of Thalweg's.
bool is_complete_file(std::string const& path);

// Opens the journals at these places. Throws as RunPlace::open_journal.
Journals open_journals(std::vector<RunPlace> const& places, storage::OpenMode mode);

} // namespace thalweg::dataset
