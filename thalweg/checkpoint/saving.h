// Saving in steps. `save` takes them one after the other; `save_async` some in a thread.
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

class Completion; // which needs the headers of HDF5

struct SaveOptions {
    model::Attributes attributes = {}; // those of rank 0 count
    unsigned keep = 2;                 // checkpoints that stay: path, path.1, ...
    storage::Engine engine = storage::Engine::automatic;
    // Of `save_async`, for this rank: what is larger is not copied, and the save is not one in a thread.
    std::uint64_t most_copy_bytes = std::numeric_limits<std::uint64_t>::max();
    // Not empty: this rank has nothing to save, and why. All ranks are told so.
    std::string refusal = {};
};

struct SaveReport {
    std::string path;
    std::string id;
    std::string engine;      // of rank 0
    std::uint64_t bytes = 0; // of all arrays
    std::uint64_t file_bytes = 0;
};

// One rank's part of a checkpoint that is being saved. Steps where `comm` is named are taken by all ranks together; the
// others never throw: what fails there is thrown, on all ranks, by `finish`.
class Saving {
  public:
    // Compares what the ranks give and begins the file. Where that is refused nothing has been written. `arrays` are
    // in use until the pages are written.
    Saving(std::string path, std::vector<Array> arrays, Communicator& comm, SaveOptions options);
    Saving(Saving const&) = delete;
    Saving& operator=(Saving const&) = delete;
    ~Saving();

    std::string const& path() const { return path_; }

    // The copy of no rank would be larger than its `most_copy_bytes`.
    bool may_copy() const { return may_copy_; }
    // After this the memory of the arrays may change. `memory` is made larger where it has to be, and is in use until
    // the pages are written.
    void copy_blocks(base::AlignedBuffer& memory);
    void encode();
    void place(Communicator& comm);
    // On return the last writes may still be on their way.
    void write();
    // Waits for them. Whoever calls `finish` in another thread than `write` calls this in that of `write`.
    void end_writes();
    // Until then nobody sees the file. What is left to write is, whatever it throws.
    SaveReport finish(Communicator& comm);

  private:
    Json begin(std::vector<Json> const& said); // on rank 0
    void open(Json const& plan);
    void add_parts(std::vector<Array> const& arrays);
    void encode_part(OwnPart& part);
    Json facts();
    Json write_metadata(std::vector<Json> const& facts); // on rank 0
    Json publish();                                      // on rank 0
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
    std::unique_ptr<Completion> completion_; // rank 0's
    std::exception_ptr failure_;
};

} // namespace thalweg::checkpoint
