// Saves a checkpoint in steps. `save` takes them one after the other; `save_async` takes some in a thread.
//
// States of a save, and the function that makes each transition. In brackets: what the communicator is used for.
//
//     declared    constructor [agree]: the ranks compare path, options and arrays; rank 0 plans the file and makes it,
//        |        empty, under a name that no reader looks for (place.h)
//     (copied)    copy_blocks: the simulation may change its arrays from now on
//        |
//     encoded     encode: each rank knows the sizes of its pages
//        |
//     placed      place [sum over the ranks below]: each page has its offset
//        |
//     written     write, end_writes: the pages are in the file. A rank that rank 0 cannot sync for syncs by itself.
//        |
//     described   finish [agree]: rank 0 has all places and checksums, writes blocks that several ranks share, the
//        |        record and the metadata
//     durable     finish [agree]: all ranks have ended their writes; rank 0 writes the head and the superblock, and
//        |        syncs
//     published   finish: the file gets its name, durably, and nothing is held any more
//
// Invariants:
//
//  1. If a step fails on one rank, it fails on all ranks, at the next agreement. Between agreements no step throws:
//     `attempt` keeps the first error, and later steps do nothing.
//  2. All ranks call the communicator in the same order, those that have failed too.
//  3. The places of all ranks are disjoint, and end where the pages end. Rank 0 alone writes a block of which several
//     ranks have a part.
//  4. Metadata lies behind every page, and names no byte that is not durable before the file has its name.
//  5. At every moment `path` is a whole checkpoint, if there was one before.
#pragma once

#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/memory.h"
#include "thalweg/checkpoint/page_writer.h"
#include "thalweg/checkpoint/place.h"
#include "thalweg/checkpoint/ranks.h"
#include "thalweg/checkpoint/record.h"

namespace thalweg::checkpoint {

class SaveEnding; // which needs the headers of HDF5

struct SaveOptions {
    model::Attributes attributes = {}; // those of rank 0 are kept; other ranks give the same or none
    unsigned keep = 2;                 // checkpoints that stay: path, path.1, ...
    storage::Engine engine = storage::Engine::automatic;
    // For `save_async`: a rank whose blocks are larger does not copy them, and the save is not done in a thread then.
    std::uint64_t most_copy_bytes = std::numeric_limits<std::uint64_t>::max();
};

struct SaveReport {
    std::string path;
    std::string id;
    std::string engine;      // of rank 0
    std::uint64_t bytes = 0; // of all arrays
    std::uint64_t file_bytes = 0;
    std::vector<std::string> problems = {}; // sentences: what was found damaged and is replaced
};

// Takes part in the first agreement of a save, as a rank that cannot say what it saves: all ranks throw `why`.
[[noreturn]] void refuse_save(Communicator& comm, std::string const& path, std::exception_ptr const& why);

// One rank's part of a checkpoint that is being saved. Steps that take `comm` are taken by all ranks together; the
// others never throw: what fails there is thrown, on all ranks, by `finish`.
class Saving {
  public:
    // Compares what the ranks give and begins the file. If that is refused, nothing has been written. `arrays` are in
    // use until the pages are written.
    Saving(std::string path, std::vector<Array> arrays, Communicator& comm, SaveOptions options);
    Saving(Saving const&) = delete;
    Saving& operator=(Saving const&) = delete;
    ~Saving();

    std::string const& path() const { return path_; }

    // Returns true if the copy of no rank would be larger than its `most_copy_bytes`.
    bool may_copy() const { return may_copy_; }
    // After this the memory of the arrays may change. `memory` is made larger if it has to be, and is in use until the
    // pages are written.
    void copy_blocks(base::AlignedBuffer& memory);
    void encode();
    void place(Communicator& comm);
    // On return the last writes may still be on their way.
    void write();
    // Waits for them. If `finish` is called in another thread than `write`, this is called in that of `write`.
    void end_writes();
    // Until this returns no reader sees the file. Writes that are left are done, whatever it throws, and the file and
    // its lock are let go.
    SaveReport finish(Communicator& comm);

  private:
    Json begin(std::vector<Json> const& said); // on rank 0
    void open(Json const& plan);
    void add_parts(std::vector<Array> const& arrays);
    void encode_part(OwnPart& part);
    Json facts();
    Json write_metadata(std::vector<Json> const& facts); // on rank 0
    Json publish();                                      // on rank 0
    SaveReport agree_on_end(Communicator& comm);
    void let_go();
    std::uint64_t end_of_places(std::vector<StoredArray> const& arrays) const;
    template <class Step> void attempt(Step const& step);

    std::string path_;
    std::string problem_;
    SaveOptions options_;
    std::unique_ptr<NewFile> new_file_; // rank 0's
    std::unique_ptr<storage::Storage> file_;
    std::string id_;
    std::vector<ArrayPlan> plans_;
    std::uint64_t free_begin_ = 0; // where pages begin that no plan gives a place
    std::vector<OwnPart> parts_;
    bool may_copy_ = true;
    bool syncs_ = true;       // by itself: what rank 0 syncs does not hold what this rank has written
    bool have_ended_ = false; // its writes
    std::unique_ptr<PageWriter> writer_;
    std::unique_ptr<SaveEnding> ending_; // rank 0's
    std::exception_ptr failure_;
};

} // namespace thalweg::checkpoint
