// The producers of a run as the committer sees them: met, living, settled. Its thread changes the list; any thread may
// ask for the status.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/thread.h"
#include "thalweg/dataset/commit/durability.h"
#include "thalweg/dataset/commit/intake.h"
#include "thalweg/dataset/run/commit_status.h"
#include "thalweg/dataset/run/open_run.h"
#include "thalweg/dataset/run/status_board.h"

namespace thalweg::dataset {

class ProducerList {
  public:
    ProducerList(OpenRun& run, StatusBoard const& board);

    // Meets producers that have come since the last call.
    void admit(JournalWriter& journal);
    // For the committer, whose thread alone changes it.
    std::vector<std::unique_ptr<ProducerIntake>> const& all() const THALWEG_UNCHECKED_LOCKS { return producers_; }
    bool is_finished(ProducerIntake const& producer) const;
    // Throws base::SystemError if that cannot be told.
    bool is_dead(ProducerIntake const& producer);
    // Returns why it cannot be told whether a process lives; empty if the last question about each had an answer.
    std::string unanswered() const;
    // Journals what it had and counts it among those that have ended.
    void settle(ProducerIntake& producer, JournalWriter& journal, bool died);
    // Their slots are free again, and the board has what they have counted.
    void drop_settled();

    // Returns what every producer has published; of work units, if these are asked for, what is committed.
    Durability::Items published(bool with_units) const;
    // What is journaled of every producer, also of those that have settled since the last flush.
    Durability::Items covered() const;
    // A flush has made that durable: settled producers that it names are forgotten.
    void set_durable(Durability::Items items);

    // Returns how many rows all producers have appended so far; of work units those that are committed.
    std::uint64_t rows_appended() const;

    // What may still be in no page when the run ends.
    std::uint64_t unwritten_bytes() const;

    void add_to(CommitStatus& status) const;

  private:
    bool is_orphaned(std::size_t slot);
    void free_slot(std::size_t slot) THALWEG_REQUIRES(mutex_);
    bool is_known_orphan(std::size_t slot);
    void note_need(ProducerIntake const& producer) THALWEG_REQUIRES(mutex_);
    std::string need_in_words() const THALWEG_REQUIRES(mutex_);
    ProducerStatus status_of(ProducerIntake const& producer) const THALWEG_REQUIRES(mutex_);

    OpenRun& run_;
    StatusBoard const& board_;
    std::vector<bool> met_;           // by slot
    std::uint64_t settled_bytes_ = 0; // of rows that no page held when their producer was settled

    mutable base::Mutex mutex_; // add_to() comes from any thread
    std::vector<std::unique_ptr<ProducerIntake>> producers_ THALWEG_GUARDED_BY(mutex_);
    std::vector<EndedProducers> ended_ THALWEG_GUARDED_BY(mutex_); // by table
    std::vector<AbandonedStatus> abandoned_ THALWEG_GUARDED_BY(mutex_);
    struct Settled {
        ProducerStatus status;
        std::vector<std::uint64_t> items;
    };
    // The most that producers of a process could not do without where their budget had no room for it.
    struct Need {
        std::uint64_t bytes = 0;
        std::uint64_t producers = 0;
        std::size_t table = 0; // of the last one
    };
    Need need_ THALWEG_GUARDED_BY(mutex_);
    std::vector<Settled> settled_ THALWEG_GUARDED_BY(mutex_); // and not durable
    Durability::Items durable_ THALWEG_GUARDED_BY(mutex_);
    std::map<std::size_t, std::string> unanswered_ THALWEG_GUARDED_BY(mutex_); // why, by slot
};

} // namespace thalweg::dataset
