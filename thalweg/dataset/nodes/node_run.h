// One node's part of a run that several nodes write, from the moment when all are there: it watches which nodes die,
// and ends the run together with the others (node_ending.h). A Writer has one if its run is of several nodes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/dataset/begin/begun_run.h"
#include "thalweg/dataset/complete/complete.h"
#include "thalweg/dataset/nodes/node_ending.h"
#include "thalweg/dataset/run/run_place.h"

namespace thalweg::dataset {

class NodeRun {
  public:
    explicit NodeRun(BegunRun const& begun);

    // Nodes that are taken for dead in a run that goes on without them, from 0, and why.
    std::map<std::uint32_t, std::string> dead_nodes() const;

    // All that this node's producers had is in its journal, durably. From here on other nodes may complete the file.
    // `part`: how much that is.
    void finish(FinishedPart const& part);
    bool has_finished() const { return ending_ != nullptr; }
    // After `finish`: returns when one of the nodes has completed the file. Throws base::SystemError naming the nodes
    // that still write when the time is over (the run stays open then), and any other error.
    CompleteResult complete(std::uint64_t end_ns);
    // After `complete`, and once the caller has no file of the folder open: the node that has completed the file
    // removes the journals. (A client of a network file system keeps a file that is removed while it has it open, under
    // another name in the same folder, which then cannot be removed.)
    void remove_journals_if_completed();

    // This node ends without completing its part, or the file: tells the others, and its ledger.
    void fail(std::string const& why);
    // The run is abandoned on this node.
    void abandon();

  private:
    [[noreturn]] void fail_completion(std::string const& why) const;
    [[noreturn]] void fail_recovered_meanwhile() const;
    void journal_parts_of_dead() const;
    CompleteResult complete_for_all(std::uint64_t end_ns);
    std::optional<Journals> open_parts(std::vector<RunPlace> const& places, std::string& missing) const;
    // Returns nothing, and why, if a part is not seen as a whole yet.
    std::optional<CompleteResult> try_to_complete(std::string& missing);
    CompleteResult end_for_all(CompleteResult result);
    CompleteResult completed_by_another();

    std::shared_ptr<OpenRun> run_;
    JournalFiles journal_;
    std::shared_ptr<FileWatch const> watch_;
    bool whole_file_checksum_;
    std::unique_ptr<NodeEnding> ending_; // once its part is finished
    std::uint64_t give_up_ns_ = 0;       // so long it waits until all parts are seen as a whole
    bool has_completed_ = false;
};

} // namespace thalweg::dataset
