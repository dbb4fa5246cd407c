#include "thalweg/checkpoint/cover.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <set>

namespace thalweg::checkpoint {
namespace {

using Owned = std::vector<OwnedBox const*>;

struct Fault {
    PerAxis at;
    Owned owners; // none, or several
};

// Every axis is cut where a block begins or ends: between two cuts the same blocks are there.
std::optional<Fault> find_fault(PerAxis const& shape, Owned const& there, PerAxis& at) {
    auto const axis = at.size();
    if (axis == shape.size()) {
        if (there.size() == 1) return std::nullopt;
        return Fault{at, there};
    }
    std::set<std::uint64_t> cuts{0};
    for (auto const* owned : there) {
        cuts.insert(owned->box.start[axis]);
        if (owned->box.end(axis) < shape[axis]) cuts.insert(owned->box.end(axis));
    }
    auto by_start = there;
    std::ranges::stable_sort(by_start, {}, [&](auto const* owned) { return owned->box.start[axis]; });
    auto next = by_start.begin();
    Owned here;
    for (auto const cut : cuts) {
        std::erase_if(here, [&](auto const* owned) { return owned->box.end(axis) <= cut; });
        for (; next != by_start.end() && (*next)->box.start[axis] <= cut; ++next) here.push_back(*next);
        at.push_back(cut);
        if (auto fault = find_fault(shape, here, at)) return fault;
        at.pop_back();
    }
    return std::nullopt;
}

std::string outside(PerAxis const& shape, OwnedBox const& owned) {
    auto const whose = fmt::format("the block of rank {}", owned.rank);
    auto const& box = owned.box;
    if (box.start.size() != shape.size() || box.shape.size() != shape.size()) {
        return fmt::format("{} starts at {} and has the shape {}, and the array has {} axes", whose, text_of(box.start),
                           text_of(box.shape), shape.size());
    }
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (box.start[axis] > shape[axis] || box.shape[axis] > shape[axis] - box.start[axis]) {
            return fmt::format("{}, {}, is not within the shape {}", whose, box.text(), text_of(shape));
        }
    }
    return {};
}

} // namespace

std::string why_not_whole(PerAxis const& shape, std::vector<OwnedBox> const& boxes) {
    Owned there;
    for (auto const& owned : boxes) {
        if (auto why = outside(shape, owned); !why.empty()) return why;
        if (owned.box.count() > 0) there.push_back(&owned);
    }
    PerAxis at;
    if (count_of(shape) == 0) return {};
    auto const fault = find_fault(shape, there, at);
    if (!fault) return {};
    if (fault->owners.empty()) return fmt::format("no rank has the element {}", text_of(fault->at));
    auto const& first = *fault->owners[0];
    auto const& second = *fault->owners[1];
    return fmt::format("the element {} is in a block of rank {}, {}, and in one of rank {}, {}", text_of(fault->at),
                       first.rank, first.box.text(), second.rank, second.box.text());
}

} // namespace thalweg::checkpoint
