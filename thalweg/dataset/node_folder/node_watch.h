// A node watches while it writes whether another one has said that the run cannot go on, or not with this node, and
// whether its neighbour still lives. Each watches one neighbour, so none is watched by many.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "thalweg/dataset/node_folder/node_share.h"
#include "thalweg/dataset/node_folder/sign_of_life.h"

namespace thalweg::dataset {

class NodeWatch {
  public:
    explicit NodeWatch(NodeShare const& share);

    // Returns why this node cannot go on, or empty text. Looks once a second, however often it is asked.
    std::string problem();
    // Returns the nodes without which the others go on, with the reasons, that were not returned before.
    std::vector<std::string> new_deaths();

  private:
    void look_at_neighbour();
    void note_deaths();

    NodeShare const& share_;
    std::uint32_t neighbour_;
    SignOfLife life_;
    std::uint64_t next_look_ns_ = 0;
    bool is_over_ = false;            // the neighbour has written all that it had
    std::set<std::uint32_t> dead_;    // that were noted
    std::vector<std::string> deaths_; // of these, that are still to be told
    std::string problem_;
};

// Returns a sentence about a silent node, with the host that its journal names.
std::string silent_node(PartsFolder const& parts, std::uint32_t node, std::uint64_t silent_ns);

} // namespace thalweg::dataset
