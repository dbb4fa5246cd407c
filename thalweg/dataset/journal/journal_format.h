// The bytes of the journal, as docs/formats/journal.md describes them. Little endian, records padded to 8 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace thalweg::dataset {

inline constexpr std::uint32_t kJournalVersion = 5;
inline constexpr char kJournalMagic[8] = {'T', 'H', 'J', 'R', 'N', 'L', '0', '5'};

// In front of everything, twice: a flipped bit, or a lost block, costs no run.
inline constexpr std::uint64_t kPreambleOffsets[2] = {0, 4096};
inline constexpr std::uint64_t kHeadOffset = 8192; // of the first copy of the head; in later segments: of the records

struct JournalPreamble {
    char magic[8];
    std::uint32_t segment; // 0: run.h5.journal; n: run.h5.journal.n
    std::uint32_t node;    // of the run's `nodes`: this journal is of node `node`, counted from 0
    std::uint32_t nodes;
    std::uint32_t birth; // of the data file (birth_mark in journal_preamble.h); 0: not known
    char run_id[40];
    char boot_id[40];     // of the machine
    char host[64];        // which wrote it
    std::uint64_t device; // st_dev and st_ino of the data file; 0, 0 if it is no file
    std::uint64_t inode;
    std::uint64_t head_bytes; // of the JSON, which stands at kHeadOffset and once more at the next multiple of 4096
    std::uint64_t head_check; // base::xxh3 of it
    std::uint64_t records;    // where the records begin
    std::uint64_t check;      // base::xxh3 of all in front
};
static_assert(sizeof(JournalPreamble) == 216 && offsetof(JournalPreamble, device) == 168);
static_assert(std::has_unique_object_representations_v<JournalPreamble>);

enum class RecordType : std::uint32_t {
    head = 1,         // of no record: readers of the journal get the JSON of the model::RunHead under it
    producer = 2,     // ProducerRecord
    pages = 3,        // any number of PageRecord, packed (journal_pages.h)
    rows = 4,         // any number of RowsRecord with their items, packed (journal_rows.h)
    finish = 5,       // FinishRecord
    barrier = 6,      // BarrierRecord
    metadata = 7,     // JSON object of strings, added to the head's
    closed = 8,       // empty: the file is complete
    unit = 9,         // UnitRecord, then the key if it is text, then the summary
    footer = 10,      // FooterRecord
    segment = 11,     // SegmentRecord
    voided_page = 12, // VoidedPageRecord
    voided_unit = 13, // UnitRecord without parts: what is said of that key in front of it does not count
    abandoned = 14,   // AbandonedRecord, then the text of the reason
    kept = 15,        // KeptRecord, then its ranges
    resumed = 16,     // JSON, the knobs from here on: what is damaged or missing before was so when the run was resumed
    settled = 17,     // empty: all that was ever published is in the journal, in front of it
    region = 18,      // RegionRecord
};

struct RecordHead {
    std::uint32_t type;
    std::uint32_t head_check; // low half of base::xxh3 of the two fields below and the type
    std::uint64_t payload_bytes;
    std::uint64_t payload_check; // base::xxh3 of the payload
};
static_assert(sizeof(RecordHead) == 24 && std::has_unique_object_representations_v<RecordHead>);

struct ProducerRecord {
    std::uint32_t producer; // counted from 0 over the run's life
    std::uint32_t table;
    std::int32_t pid;
    std::uint32_t of_units; // 1: its rows count only in work units that were committed
};
static_assert(sizeof(ProducerRecord) == 16);

// One page, at the place where its producer wrote it. With column kClusterEnd: the cluster that begins at row `first`
// has `count` rows and `cluster` pages, all of them announced before; the rest is 0 then.
inline constexpr std::uint32_t kClusterEnd = 0xffffffff;
// Between producer and committer only, never in the journal: the work unit with entry `cluster` of the table of units
// was committed, and has the `stored_bytes` rows from `first` on of this producer, as the part number `count` of it.
inline constexpr std::uint32_t kUnitEnd = 0xfffffffe;

struct PageRecord {
    std::uint32_t producer;
    std::uint32_t column;
    std::uint64_t first;   // item, as the producer counts
    std::uint32_t count;   // items
    std::uint32_t encoded; // of the end of a cluster: 1: it may be joined, since age has ended it
    std::uint64_t offset;  // in the data file
    std::uint64_t stored_bytes;
    std::uint64_t cluster;  // its first row; 0 if the container has no clusters
    std::uint64_t checksum; // base::xxh3 of the stored bytes
    std::uint32_t adler32;  // of the same: so that the whole file's is known without reading it again
    std::uint32_t equal; // on the ring only: 1: its bytes are those of another page of the cluster, at the same place
    std::uint64_t sum_before; // of a page of running sums: of the lengths in front of it in its cluster
};
static_assert(sizeof(PageRecord) == 72 && offsetof(PageRecord, offset) == 24 && offsetof(PageRecord, checksum) == 48);
static_assert(std::has_unique_object_representations_v<PageRecord>);

struct RowsRecord {
    std::uint32_t producer;
    std::uint32_t column;
    std::uint64_t first;
    std::uint64_t count;
};
static_assert(sizeof(RowsRecord) == 24);

// A record of rows begins with this. The table of its pieces and their items follow, each as one frame of zstd, or raw
// if that does not shrink it.
struct RowsHead {
    std::uint32_t pieces;
    std::uint32_t packed; // bit 0: the table is a frame; bit 1: the items are
    std::uint64_t table_bytes;
    std::uint64_t table_stored_bytes;
    std::uint64_t items_bytes;
};
static_assert(sizeof(RowsHead) == 32 && std::has_unique_object_representations_v<RowsHead>);

// A later segment was begun; or nothing in it is needed any more, and it is about to be removed.
struct SegmentRecord {
    std::uint32_t segment;
    std::uint32_t over;
};
static_assert(sizeof(SegmentRecord) == 8);

struct FinishRecord {
    std::uint32_t producer;
    std::uint32_t died; // 1: the committer found it dead and took over what it had published
    std::uint64_t rows;
};
static_assert(sizeof(FinishRecord) == 16);

// The worker of the producer ended on an exception. What it had appended before is kept; a FinishRecord follows.
struct AbandonedRecord {
    std::uint32_t producer;
    std::uint32_t reason_bytes;
};
static_assert(sizeof(AbandonedRecord) == 8);

// The rows of one producer that belong to a work unit which was committed. A unit is complete when `parts` of these are
// there, of different producers; it counts when all its rows are whole.
inline constexpr std::uint32_t kIntegerKey = 0xffffffff;

struct UnitRecord {
    std::int64_t key;            // 0 if the key is text
    std::uint32_t key_bytes;     // of a key that is text, which follows; kIntegerKey: it is an integer
    std::uint32_t summary_bytes; // which follow the key, in one of the parts
    std::uint32_t parts;
    std::uint32_t producer;
    std::uint64_t first_row;
    std::uint64_t rows;
};
static_assert(sizeof(UnitRecord) == 40 && std::has_unique_object_representations_v<UnitRecord>);

// A page that was found damaged when the run was resumed.
struct VoidedPageRecord {
    std::uint64_t offset; // in the data file
};
static_assert(sizeof(VoidedPageRecord) == 8);

// Names the rows that the table keeps of a producer with gaps, as ranges that follow (first row and number of rows, u64
// each), ascending. It is written when the run is resumed, so that what is kept does not depend on what becomes durable
// later.
struct KeptRecord {
    std::uint32_t producer;
    std::uint32_t ranges;
};
static_assert(sizeof(KeptRecord) == 8);

// Room that was claimed for an interim footer: nothing but the anchors knows of it otherwise.
struct FooterRecord {
    std::uint64_t offset;
    std::uint64_t size_bytes;
};
static_assert(sizeof(FooterRecord) == 16);

// In a run of several nodes: this node took a region of the file (over: 0), or claims nothing in it any more (1) and
// has claimed it up to `used_end`.
struct RegionRecord {
    std::uint32_t region;
    std::uint32_t over;
    std::uint64_t used_end;
};
static_assert(sizeof(RegionRecord) == 16);

struct BarrierRecord {
    std::uint64_t covered_bytes; // every page announced by a record that ends at or below this offset is durable
};
static_assert(sizeof(BarrierRecord) == 8);

} // namespace thalweg::dataset
