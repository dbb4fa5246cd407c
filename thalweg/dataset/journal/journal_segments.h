// The files of one journal: the main one stays for the whole run, and later ones hold rows that are in no page yet.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/thread.h"
#include "thalweg/dataset/journal/journal_preamble.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {

// The folder of the later segments. Numbers begin at 1, and none is used twice. Thread-safe.
class SegmentFolder {
  public:
    virtual ~SegmentFolder() = default;

    virtual std::vector<std::uint32_t> list() const = 0; // ascending
    virtual std::shared_ptr<storage::Storage> create(std::uint32_t number) = 0;
    // Returns none if it was removed.
    virtual std::shared_ptr<storage::Storage> open(std::uint32_t number) const = 0;
    virtual void remove(std::uint32_t number) = 0;
    // Makes what was created and removed durable.
    virtual void sync() = 0;
};

// Beside the journal at this path.
std::shared_ptr<SegmentFolder> segments_beside(std::string const& journal_path);

// The open files of one journal. Copies share them, and what was read of their beginning.
class JournalFiles {
  public:
    JournalFiles() = default;
    template <std::derived_from<storage::Storage> Any>
    JournalFiles(std::shared_ptr<Any> journal, std::shared_ptr<SegmentFolder> folder = nullptr)
        : main(std::move(journal)), segments(std::move(folder)) {}
    template <std::derived_from<storage::Storage> Any>
    JournalFiles(std::unique_ptr<Any> journal, std::shared_ptr<SegmentFolder> folder = nullptr)
        : main(std::move(journal)), segments(std::move(folder)) {}

    // Returns what `main` begins with. Once that is the beginning of a journal it never changes, and is not read again.
    std::shared_ptr<JournalStart const> start() const;
    // The same. Throws like require_start if it is not the beginning of a journal.
    std::shared_ptr<JournalStart const> required_start() const;
    // Returns the same journal without its later segments.
    JournalFiles without_segments() const;

    std::shared_ptr<storage::Storage> main;
    std::shared_ptr<SegmentFolder> segments; // none: all rows are in `main`

  private:
    struct Known {
        base::Mutex mutex;
        std::shared_ptr<JournalStart const> start THALWEG_GUARDED_BY(mutex);
    };
    std::shared_ptr<Known> known_ = std::make_shared<Known>();
};

// The journals of all nodes of a run, that of the first node in front.
using Journals = std::vector<JournalFiles>;

// What a file in the place of a later segment is to the journal that begins with `main`.
enum class SegmentKind : std::uint8_t {
    ours,
    damaged, // it has records, and does not begin as a segment of this journal: it counts as one damaged record
    empty,   // it has none: it was never synced
};
SegmentKind segment_kind(JournalPreamble const& main, std::uint32_t number, storage::Storage const& segment,
                         JournalStart const& start);

// Returns all later segments, each open, ascending: whatever is removed from now on can still be read through these.
std::map<std::uint32_t, std::shared_ptr<storage::Storage>> open_segments(JournalFiles const& files);

} // namespace thalweg::dataset
