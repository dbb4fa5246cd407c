// How the nodes of a new run find each other, through the folder of its file alone (parts_folder.h).
//
//     node 1                                     every other node
//       creates file, folder and its journal       waits for the journal of node 1 (wait_for_first)
//       waits for the journals of all others       creates its journal (joining.h)
//         (meet_as_first)                          waits for `begun` (wait_until_begun)
//       announces the rules and `begun`   ──────▶  takes the rules, and writes
//
// A node that fails before `begun` announces `failure`, and all others fail with its reason. A node that waits in vain
// removes its journal.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "thalweg/base/clock.h"
#include "thalweg/dataset/begin/options.h"
#include "thalweg/dataset/node_folder/folder_pause.h"
#include "thalweg/dataset/node_folder/node_share.h"
#include "thalweg/dataset/run/open_run.h"
#include "thalweg/dataset/run/run_place.h"

namespace thalweg::dataset {

inline constexpr std::uint32_t kMostNodes = 4096;

// A wait that ends.
class Deadline {
  public:
    Deadline(std::uint64_t timeout_ns, std::function<void()> while_waiting)
        : end_ns_(base::monotonic_ns() + timeout_ns), while_waiting_(std::move(while_waiting)) {}

    // False when the time is over.
    bool pause();
    // So many nodes look at the folder, and each of them less often.
    void is_of(std::uint32_t nodes) { pause_.is_of(nodes); }
    void shorten(std::uint64_t timeout_ns) { end_ns_ = std::min(end_ns_, base::monotonic_ns() + timeout_ns); }

  private:
    std::uint64_t end_ns_;
    std::function<void()> while_waiting_;
    FolderPause pause_;
};

// The journal of the first node, as others find it.
struct FirstNode {
    NodeOfRun which;
    model::RunHead head;
};

// Returns nothing if it is not there, or not whole yet.
std::optional<FirstNode> first_node_of(PartsFolder const& parts);
// Throws base::UsageError if it is not the run that `node` is to join.
void check_expected(std::string const& path, std::uint32_t node, JoinOptions const& options, FirstNode const& first);

// Throws base::UsageError if a run of several nodes cannot be what is asked for. `continues`: another file.
void check_nodes(std::string const& path, CreateOptions const& options, bool continues);

std::unique_ptr<NodeShare> share_of(OpenRun const& run, NodeOfRun const& which, std::uint64_t timeout_ns,
                                    std::uint64_t flush_interval_ns);

// Returns when all others have come, and says so to them. Throws base::UsageError naming those that have not.
void meet_as_first(OpenRun const& run, NodesOptions const& options);

// Waits for a run that lacks this node. Throws base::UsageError if it does not come, or if it is not the one that is
// expected.
FirstNode wait_for_first(std::string const& path, std::uint32_t node, JoinOptions const& options, Deadline& deadline);

// Returns true when all nodes have come, and false if the run was given up meanwhile. Throws base::UsageError naming
// those that have not come, or why another node has failed.
bool wait_until_begun(OpenRun const& run, Deadline& deadline);

} // namespace thalweg::dataset
