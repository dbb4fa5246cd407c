// The ranges that this client has taken and not committed.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "thalweg/base/assert.h"
#include "thalweg/readout/client/client_range.h"

namespace thalweg::readout {

class OwnRanges {
  public:
    bool empty() const { return ranges_.empty(); }
    OwnRange const& oldest() const { return ranges_.front(); }

    // Adds a range. If several handlers give the same range, each has a key of its own for it.
    void add(OwnRange const& range) {
        THALWEG_ASSERT(range.id.count > 0, "a range has an event");
        ranges_.push_back(range);
    }
    bool contain(RangeId const& id) const {
        return std::any_of(ranges_.begin(), ranges_.end(), [&](OwnRange const& it) {
            return it.id.run == id.run && it.id.first == id.first && it.id.count == id.count;
        });
    }
    // Removes the range, or its first events, because they are safe. Returns it once for each of its keys.
    std::vector<OwnRange> commit(RangeId const& id) {
        std::vector<OwnRange> committed;
        for (auto& it : ranges_) {
            if (!begins_like(it.id, id)) continue;
            THALWEG_ASSERT(id.count <= it.id.count, "no more can be committed than was taken");
            committed.push_back({id, it.key});
            it.id.first += id.count;
            it.id.count -= id.count;
        }
        std::erase_if(ranges_, [](OwnRange const& it) { return it.id.count == 0; });
        return committed;
    }

  private:
    static bool begins_like(RangeId const& one, RangeId const& other) {
        return one.run == other.run && one.first == other.first;
    }

    std::deque<OwnRange> ranges_; // the oldest first
};

} // namespace thalweg::readout
