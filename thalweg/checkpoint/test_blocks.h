// Arrays for tests: every element says where it is.
#pragma once

#include <algorithm>
#include <complex>
#include <vector>

#include "thalweg/checkpoint/array.h"

namespace thalweg::checkpoint {

using Values = std::vector<std::complex<double>>;

inline std::complex<double> value_at(PerAxis const& at) {
    double value = 1;
    for (auto const index : at) value = value * 1009 + static_cast<double>(index);
    return {value, -0.5 * value};
}

// Calls `use(index)` for every element of a box, in C order.
template <class Use> void for_elements(Box const& box, Use const& use) {
    auto at = box.start;
    for (bool more = box.count() > 0; more;) {
        use(at);
        more = false;
        for (auto axis = at.size(); axis-- > 0 && !more;) {
            more = ++at[axis] < box.end(axis);
            if (!more) at[axis] = box.start[axis];
        }
    }
}

inline Values values_of(Box const& box) {
    Values values;
    for_elements(box, [&](PerAxis const& at) { values.push_back(value_at(at)); });
    return values;
}

// The boxes that a shape is cut into: `pieces` along each axis, as equal as can be (`larger` first) or each as large as
// the first (`grid`).
inline std::vector<Box> cut(PerAxis const& shape, PerAxis const& pieces, bool grid) {
    std::vector<Box> boxes;
    for_elements({PerAxis(shape.size(), 0), pieces}, [&](PerAxis const& at) {
        Box box{at, at};
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            auto const cell = (shape[axis] + pieces[axis] - 1) / pieces[axis];
            auto const edge = [&](std::uint64_t i) {
                return grid ? std::min(shape[axis], i * cell) : shape[axis] * i / pieces[axis];
            };
            box.start[axis] = edge(at[axis]);
            box.shape[axis] = edge(at[axis] + 1) - edge(at[axis]);
        }
        boxes.push_back(std::move(box));
    });
    return boxes;
}

} // namespace thalweg::checkpoint
