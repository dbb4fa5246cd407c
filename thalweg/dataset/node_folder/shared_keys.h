// Keys of work units that may be done on any node: each is taken through the folder of the run before it is committed,
// so no two nodes commit one key.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "thalweg/base/thread.h"
#include "thalweg/dataset/journal/unit_key.h"
#include "thalweg/dataset/node_folder/node_rules.h"

namespace thalweg::dataset {

class SharedKeys {
  public:
    // `together`: so many consecutive integers are taken at once.
    SharedKeys(PartsFolder parts, std::uint32_t node, std::uint64_t together)
        : parts_(std::move(parts)), node_(node), together_(together) {}

    // Takes it, with those that are taken together with it, for this node. Returns false if another one has them.
    bool take(UnitKey const& key);
    // Makes durable what was taken on this machine, by any process: it stays taken if the machine is lost.
    void sync() const;

  private:
    std::string owner_of(std::string const& path, std::string const& me) const;

    PartsFolder parts_;
    std::uint32_t node_;
    std::uint64_t together_;
    base::Mutex mutex_;
    std::set<std::int64_t> mine_ THALWEG_GUARDED_BY(mutex_); // groups of several keys that are known to be
};

// Returns the keys of a run that has begun; nothing if its nodes do not share them.
std::unique_ptr<SharedKeys> shared_keys(PartsFolder const& parts, std::uint32_t node, NodeRules const& rules);

} // namespace thalweg::dataset
