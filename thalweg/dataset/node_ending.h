// The end of a run of several nodes: each waits until the first one has completed the file from the journals of all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/base/thread.h"
#include "thalweg/dataset/run/node_share.h"
#include "thalweg/dataset/run/sign_of_life.h"

namespace thalweg::dataset {

// Of a node all of whose rows are in its journal, durably.
class NodeEnding {
  public:
    // Says so to the others.
    NodeEnding(NodeShare const& share, std::string path);
    ~NodeEnding();

    // Other nodes that still write. Throws base::SystemError where one has said that it failed, or is silent.
    std::vector<std::uint32_t> unfinished();
    // The first node's journal is gone: it has completed the file.
    bool is_over();
    // What it has said of the file, where this node has seen that.
    std::optional<std::string> const& summary() const { return summary_; }

  private:
    void check_silence(std::uint32_t node, std::uint64_t silent_ns);
    void beat();

    NodeShare const& share_;
    std::string path_;
    std::vector<SignOfLife> lives_; // of the journals, by node
    std::optional<std::string> summary_;
    SignOfLife completing_;         // of the first node, once its journal has come to its end
    base::Mutex mutex_;
    base::Condition wake_;
    bool stop_ THALWEG_GUARDED_BY(mutex_) = false;
    base::Thread thread_; // of the first node: its sign of life from now on
};

std::string names_of(std::vector<std::uint32_t> const& nodes);

} // namespace thalweg::dataset
