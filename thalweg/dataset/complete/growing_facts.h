// The facts of a run that is being written, look by look. Of its journals only what is new is read, and what the caller
// has seen is kept no more: so a look takes as long, and as much memory, as what the run has gained since the last one,
// however long the run is.
//
// States, and what moves them:
//
//     begun      of: the journals are open, and nothing of them was read
//        |       look: what is new is read, and is put together with what is kept
//        v
//     shown      The caller has what `look` returned, and may read the rows of it.
//        |       forget_seen: what lies in front of the last whole block, or cluster, of each producer is counted and
//        v       dropped
//     rest       Of each producer the rows of a block are kept, since they count as a whole. `look` goes on.
//
// Records that take back what was there before (the run was resumed), damage, and another journal in the place of this
// one end this: `look` returns nothing, and the caller reads the run anew.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/dataset/complete/node_facts.h"

namespace thalweg::dataset {

class GrowingFacts {
  public:
    // Returns nothing if there is no run at `path` that is open or unfinished, or if it is just being begun.
    static std::unique_ptr<GrowingFacts> of(std::string const& path);

    // Returns what `gather` returns for a run that is open, but for the rows that were forgotten: the parts of
    // producers begin behind these (Gathered::begins). It is valid until the next call. Returns nothing if the run has
    // to be read anew. Throws as `gather`.
    Gathered const* look(storage::Storage const& file);

    // To be called when all rows that the last look returned were given out.
    void forget_seen(storage::Storage const& file);

    Journals const& journals() const { return journals_; }

  private:
    GrowingFacts(std::string path, Journals journals, std::vector<base::FileIdentity> identities);
    bool is_current() const;
    bool has_shrunk() const;
    bool read_on();
    void drop_seen();
    void drop_rows();
    ProducerFacts& producer_of(std::uint32_t number);
    void forget(model::Part const& part, std::size_t table, storage::Storage const& file);

    std::string path_;
    Journals journals_;
    std::vector<base::FileIdentity> identities_; // of their main files
    std::vector<NodeFacts> nodes_;
    std::vector<JournalPosition> positions_; // of the same nodes
    std::shared_ptr<JournalRows> rows_;
    std::optional<Gathered> gathered_; // of the last look
    bool is_first_ = true;
    bool is_broken_ = false;
};

} // namespace thalweg::dataset
