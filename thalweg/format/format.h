// The seam of the formats: page map <-> file metadata.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/model/run.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format {

// XXH3, little endian.
inline constexpr std::size_t kPageChecksumBytes = 8;

// How producers lay down pages in their extents.
struct ExtentRules {
    std::size_t head_bytes = 0;    // in front of the pages, filled by `write_extent_head`
    bool page_checksums = false;   // one follows every page
    bool equal_pages_once = false; // several pages of a cluster may be at one place
};

// What `complete` has made of a file.
struct Completed {
    std::uint64_t file_bytes = 0;
    // Clusters that age had ended were encoded again, together: so many, into so many. Their first pages, with so many
    // bytes, stay in the file, and nothing refers to them any more.
    std::uint64_t joined_clusters = 0;
    std::uint64_t clusters_of_joined = 0;
    std::uint64_t superseded_bytes = 0;
};

// A cluster all of whose pages are in the file.
struct ClusterPages {
    std::uint64_t rows = 0;
    std::vector<std::vector<model::Page>> columns; // in the order of their items
};

// Metadata that make what is committed so far readable while the run is open, for any program, without the journal. Not
// thread-safe.
class InterimMetadata {
  public:
    // What the committer knows when a flush has ended.
    struct Known {
        // What the journal says in front of these ends is durable, as its pages are: of its main file, and of its last
        // segment (0: there was none).
        std::uint64_t journal_end = 0;
        std::uint32_t last_segment = 0;
        std::uint64_t last_segment_end = 0;
        std::uint64_t rows_appended = 0; // by all producers so far, of units those that are committed
    };

    virtual ~InterimMetadata() = default;

    // Returns true if it learns of clusters by `add`, and of nothing else; false if it reads the journal.
    virtual bool takes_clusters() const { return false; }
    // Takes note of a cluster, to be shown by the next metadata behind all earlier ones of its table.
    virtual void add(std::size_t, ClusterPages const&) {}

    // Returns what the next metadata will take, or what is expected of them; 0 if there is nothing new.
    virtual std::uint64_t expected_bytes() const = 0;
    // Returns the room that the next metadata need; 0 if they would show nothing new.
    virtual std::uint64_t prepare(Known const& known) = 0;
    // Writes what was prepared at `offset`. Nothing shows it before `publish`, which may only be called when that
    // metadata, and the pages themselves, are durable. Returns false if the room does not suffice after all.
    virtual bool write(storage::Storage& file, std::uint64_t offset) = 0;
    virtual void publish(storage::Storage& file) = 0;
};

// Room that `complete` may need beside the table of work units: kept free on the disk while the run is open.
struct MetadataBound {
    std::uint64_t file_bytes = 0;
    std::uint64_t page_bytes = 0;         // for each page,
    std::uint64_t lengths_page_bytes = 0; // and this more for each page of a lengths column

    std::uint64_t bytes(std::uint64_t pages, std::uint64_t lengths_pages) const {
        return file_bytes + pages * page_bytes + lengths_pages * lengths_page_bytes;
    }
};

// Pages that `load` has left for later: those of a column that hold `count` items from `first` on, or all.
struct WantedPages {
    std::size_t table = 0;
    std::size_t column = 0;
    std::uint64_t first = 0;
    std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
};

struct FoundPages {
    model::TableMap::ColumnMap map;
    std::string fault; // why they cannot be read, or are not those of the column that `load` has found; else empty
};

class Format {
  public:
    virtual ~Format() = default;

    // The options with the container's own values where none are given.
    virtual model::LayoutOptions with_own_values(model::LayoutOptions options) const = 0;

    // The head of a new run: the schema in the types of this container, and how its columns are cut into pages and
    // encoded. Throws base::UsageError for what the container cannot hold.
    virtual model::RunHead make_head(model::Schema schema, model::LayoutOptions const& options,
                                     std::map<std::string, std::string> metadata) const = 0;

    virtual ExtentRules extent_rules() const { return {}; }
    // `extent` is all that will be written at `offset`.
    virtual void write_extent_head(std::span<std::byte>, std::uint64_t) const {}

    // Marks bytes between extents that are not used, at multiples of base::kBlockBytes, for programs that walk over
    // the file.
    virtual void write_gap(storage::Storage&, std::uint64_t, std::uint64_t) const {}

    // Writes what must lie in front of the first page and returns the offset from which extents may be claimed.
    virtual std::uint64_t begin(storage::Storage& file, model::RunHead const& head) const = 0;

    // Returns what makes the file readable while it is written; nothing if `complete` does that, see below.
    virtual std::unique_ptr<InterimMetadata> interim_footers(model::RunHead const&) const { return nullptr; }
    // Returns the offset of the sector from which readers of the open file start: the last write of a `complete` with
    // `facts.open_note`. Nothing if there is none.
    virtual std::optional<std::uint64_t> interim_sector() const { return std::nullopt; }

    // Writes all metadata (and the pages that are still rows in the journal) behind `facts.end_offset`, makes it
    // durable, and only then makes the file complete by its last write, durable too. Can be repeated on the same file
    // after any interruption, with the same result. With `facts.open_note`, the file does not become complete: readers
    // of the open file see what the facts say, and that note.
    virtual Completed complete(storage::Storage& file, storage::Storage const& journal, model::RunHead const& head,
                               model::RunFacts const& facts) const = 0;

    // Returns true if `complete` shows readers rows before its last write makes the file complete.
    virtual bool shows_rows_before_complete() const { return false; }

    // Returns an offset behind all to which a reader of the file is referred now: interim footers, and what an attempt
    // to complete it left. Nothing that is new may be written in front of that, and a complete file is cut
    // there.
    virtual std::uint64_t end_of_readable(storage::Storage const& file, model::RunHead const& head) const = 0;

    // Returns true if a look at its first bytes shows that the file is not complete. False says nothing.
    virtual bool is_known_open(storage::Storage const&) const { return false; }

    // Reads the metadata of a file that is complete, or shows interim metadata. Throws base::DataError for anything
    // else.
    virtual model::RunMap load(storage::Storage const& file) const = 0;

    // The maps of columns with the pages that `load` has left for later, in the order in which they are wanted. Throws
    // base::DataError where none can be looked up.
    virtual std::vector<FoundPages> load_pages(storage::Storage const&, model::RunMap const& map,
                                               std::vector<WantedPages> const& wanted) const {
        std::vector<FoundPages> found;
        found.reserve(wanted.size());
        for (auto const& each : wanted) found.push_back({map.tables.at(each.table).columns.at(each.column), {}});
        return found;
    }

    // The id of the run that the file belongs to; none for a file that Thalweg did not begin.
    virtual std::optional<std::string> run_id_of(storage::Storage const& file) const = 0;

    // Whether the sector that `complete` writes last still has a part of what `begin` had written there, as a write
    // that a power cut has torn leaves it. Never, where a torn one is no complete file anyway.
    virtual bool is_torn(storage::Storage const&, model::RunHead const&) const { return false; }

    // Compares what a complete file says about itself in several places. Throws base::DataError that names the first
    // difference.
    virtual void check(storage::Storage const&) const {}

    virtual MetadataBound metadata_bound(model::RunHead const& head) const = 0;
};

} // namespace thalweg::format
