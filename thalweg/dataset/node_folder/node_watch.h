// What a node looks at while it writes: whether another one has said that the run cannot go on, or not with this node,
// and whether its neighbour still lives. Each watches one, so that of any number none is watched by many.
#pragma once

#include <cstdint>
#include <string>

#include "thalweg/dataset/node_folder/node_share.h"
#include "thalweg/dataset/node_folder/sign_of_life.h"

namespace thalweg::dataset {

class NodeWatch {
  public:
    explicit NodeWatch(NodeShare const& share);

    // Empty, or why this node cannot go on. Looks once a second, whenever it is asked.
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

// A sentence, of a node whose journal says this of itself.
std::string silent_node(PartsFolder const& parts, std::uint32_t node, std::uint64_t silent_ns);

} // namespace thalweg::dataset
