// The end of a run of several nodes: each waits until one of them, the first that lives, has completed the file from
// the journals of all.
//
// States of a node, and what moves it on:
//
//     writing      its committer journals.
//        |         NodeEnding(): all that it had is in its journal, durably, and it announces `finished`: how much it
//        |         is (finished_part.h).
//        v
//     finished     it waits, and watches the others (check).
//        |         is_to_complete: no node that lives is in front of it, all others have finished or died, and it is
//        |         the one that announces `closing`: no region is taken from then on, and no other node completes the
//        v         file.
//     completing   NodeRun::complete_for_all. It reads the journals until they are what their nodes say of them.
//        |         The journal of the first node is removed: the file is complete.
//        v
//     over         is_over
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/base/thread.h"
#include "thalweg/dataset/node_folder/finished_part.h"
#include "thalweg/dataset/node_folder/folder_pause.h"
#include "thalweg/dataset/node_folder/node_share.h"
#include "thalweg/dataset/node_folder/sign_of_life.h"

namespace thalweg::dataset {

// What a node does all of whose rows are in its journal, durably.
class NodeEnding {
  public:
    // Says so to the others.
    NodeEnding(NodeShare const& share, std::string path, FinishedPart const& part);
    ~NodeEnding();

    // Returns which nodes this one waits for: a sentence without its end.
    std::string waits_for() const;
    enum class Next : std::uint8_t {
        wait,
        complete, // all have finished or died, and this one is to complete the file: no node takes regions any more
        over,     // the journal of the first node is gone: the file is complete
    };
    // Throws base::SystemError if the run cannot be completed by the nodes that wrote it, or if the folder did not
    // answer for as long as a node may be silent.
    Next next();
    void pause() { pause_.pause(); }

    // What has been said about the complete file, if this node has seen that.
    std::optional<std::string> const& summary() const { return summary_; }

  private:
    std::vector<std::uint32_t> unfinished(PartsFolder::Names const& names) const;
    Next look();
    void check();
    bool is_to_complete();
    bool is_over(PartsFolder::Names const& names);
    void look_at(std::uint32_t node);
    void look_at_all();
    void beat();
    void stop();

    NodeShare const& share_;
    std::string path_;
    FolderPause pause_;
    std::uint64_t next_look_ns_ = 0;
    std::uint64_t unanswered_ns_ = 0; // since when the folder does not answer
    std::map<std::uint32_t, SignOfLife> lives_;
    std::optional<std::string> summary_;
    bool has_announced_ = false; // that it completes the file
    bool is_completing_ = false;
    base::Mutex mutex_;
    base::Condition wake_;
    bool stop_ THALWEG_GUARDED_BY(mutex_) = false;
    base::Thread thread_; // its sign of life from now on
};

} // namespace thalweg::dataset
