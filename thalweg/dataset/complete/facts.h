// Turns the journals of a run into facts: what every producer wrote, and which of its rows are whole.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "thalweg/dataset/complete/unit_facts.h"
#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/node_folder/finished_part.h"
#include "thalweg/model/run.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {

struct TableReport {
    std::string table;
    std::uint64_t rows = 0;
    std::uint64_t lost_rows = 0;    // known to have been published, but not whole in every column
    std::uint64_t rows_to_come = 0; // the same, of producers that go on writing
    std::uint64_t raw_bytes = 0;    // of what is in pages
    std::uint64_t stored_bytes = 0;
};

// The worker of this producer ended on an exception.
struct AbandonedProducer {
    std::uint32_t number = 0;
    std::string table;
    std::uint64_t rows = 0; // that it had appended, and that are kept
    std::string reason;

    // A sentence.
    std::string str() const;
};

// Describes one node of a run of several.
struct NodeReport {
    std::uint32_t node = 0; // from 0
    std::string host;
    bool has_journal = false;
    bool settled = false; // its journal holds all that its producers had published
    std::uint64_t producers = 0;
    std::uint64_t rows = 0;           // of all tables, that are kept
    std::uint32_t first_producer = 0; // its number in this report
};

struct RunReport {
    std::vector<TableReport> tables;
    std::uint64_t pages = 0;
    std::uint64_t damaged_pages = 0;
    std::uint64_t producers = 0;
    std::uint64_t producers_lost = 0;      // that died, or never finished
    std::uint64_t producers_unsettled = 0; // among them: the journal does not hold all that they had published
    bool settled = false; // the journal holds all that was ever published, also by producers that it does not know
    std::uint64_t producers_abandoned = 0;    // whose workers ended on an exception; not among those lost
    std::vector<AbandonedProducer> abandoned; // the first ones of these
    std::uint64_t units = 0;                  // work units that count
    std::uint64_t units_lost = 0;             // committed, and not whole
    bool rows_may_be_missing = false; // beyond those that are counted: memory, or a part of the journal, is gone
    std::uint64_t dropped_bytes = 0;  // stored in the file for rows of units that were dropped
    // Clusters that age ended and that were encoded again, into so many; of their first pages so many bytes are in the
    // file for nothing.
    std::uint64_t joined_clusters = 0;
    std::uint64_t clusters_of_joined = 0;
    std::uint64_t superseded_bytes = 0;
    std::vector<std::string> notes; // plain sentences: what was damaged or left out, and where
    std::vector<NodeReport> nodes;  // empty: the run has one
};

// A sentence, for the notes of a report.
std::string no_journal_of(std::uint32_t node);

// Bytes of the file whose Adler-32 their producer told.
struct KnownBytes {
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
    std::uint32_t adler32 = 1;
};

// A page that is right and that no BARRIER covers: in a run of several nodes perhaps no node has synced it.
struct UnsyncedPage {
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0; // with the checksum that may follow it
    std::uint64_t check = 0;      // base::xxh3 of all these bytes
};

// Says up to where a region of the file is in use: up to where a node has claimed it or, if that is not known, up to
// its last page that is known.
struct RegionUse {
    std::uint32_t region = 0;
    std::uint64_t used_end = 0;
    bool is_over = false;
    std::uint32_t node = 0; // whose journal says so
};

// What is found of the part of one node, to be compared with what the node says of it.
struct FoundPart {
    std::uint32_t node = 0;
    FinishedPart part = {};
};

struct Gathered {
    model::RunHead head;
    model::RunFacts facts;
    std::shared_ptr<JournalRows> rows; // what pages of Place::journal refer to
    RunReport report;
    std::vector<UnitFacts> units;         // that count
    std::vector<UnitFacts> groups;        // of these, in a run that is ordered by key
    std::vector<UnitKey> left_out;        // units that do not count
    std::vector<KnownBytes> known;        // in no order
    std::vector<std::uint64_t> bad_pages; // their offsets
    std::vector<UnsyncedPage> unsynced;
    std::vector<FinishRecord> unfinished; // producers that the journal does not see the end of: what it has of them
    std::map<std::uint32_t, std::vector<model::RowRange>> cut; // producers with gaps that cost whole rows: what is kept
    // By producer, if it was followed: the items, by column, with which what is kept of it begins. Others begin with 0.
    std::map<std::uint32_t, std::vector<std::uint64_t>> begins;
    std::uint32_t next_producer = 0; // no number from here on was ever used
    bool has_barrier = false;        // what the file begins with is durable
    bool closed = false;             // the journal says that the file is complete
    std::uint64_t journal_end = 0;   // behind the last good record of the first node's journal
    std::vector<RegionUse> regions;  // of a run of several nodes
    std::vector<FoundPart> found;    // the same: of all nodes that have a journal
};

// Says what happened to a run whose journal is read: what may be missing, and what is believed.
enum class RunState {
    open,    // it is being written: what is not there yet may come, and the last record may be just being written
    closing, // all is there, and durable
    ended,   // after a crash: a power cut may have taken what is behind the last BARRIER
    copied,  // file and journal may differ in age: nothing that the journal says of the file is believed
};

// Pages behind the last BARRIER of a run that has ended, and all of a copy, are read and compared with their checksums;
// those that are not what they should be are left out, and cost their block. Throws base::DataError if the journal does
// not begin with the head of a run; whatever else makes no sense is left out and noted.
// Producers of all nodes are numbered anew, in the order of the nodes. If several nodes have committed a work unit of
// one key, the first one that is whole counts.
Gathered gather(Journals const& journals, storage::Storage const& file, RunState state);
inline Gathered gather(JournalFiles const& journal, storage::Storage const& file, RunState state) {
    return gather(Journals{journal}, file, state);
}

} // namespace thalweg::dataset
