// A node watches while it writes whether another one has said that the run cannot go on, or not with this node, and
// whether its neighbour still lives. Each watches one neighbour, so none is watched by many.
#pragma once

#include <cstdint>
#include <string>

#include "thalweg/dataset/node_folder/node_share.h"
#include "thalweg/dataset/node_folder/sign_of_life.h"

namespace thalweg::dataset {

class NodeWatch {
  public:
    explicit NodeWatch(NodeShare const& share);

    // Returns why this node cannot go on, or empty text. Looks once a second, however often it is asked.
    std::string problem();

  private:
    void look_at_neighbour();

    NodeShare const& share_;
    std::uint32_t neighbour_;
    SignOfLife life_;
    std::uint64_t next_look_ns_ = 0;
    bool is_over_ = false; // the neighbour has written all that it had
    std::string problem_;
};

// Returns a sentence about a silent node, with the host that its journal names.
std::string silent_node(PartsFolder const& parts, std::uint32_t node, std::uint64_t silent_ns);

} // namespace thalweg::dataset
