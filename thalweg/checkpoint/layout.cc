#include "thalweg/checkpoint/layout.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "thalweg/base/units.h"

namespace thalweg::checkpoint {
namespace {

// HDF5 has no chunks of 4 GiB and more, and what reads a compressed one decodes all of it.
constexpr std::uint64_t kMostChunkBytes = base::kGiB;
constexpr std::uint64_t kEncodedChunkBytes = 4 * base::kMiB;
// Smaller ones would cost more for their entries than for their bytes.
constexpr std::uint64_t kLeastChunkBytes = 64 * base::kKiB;

std::uint64_t most_bytes(ArrayPlan const& plan) { return plan.codec == "none" ? kMostChunkBytes : kEncodedChunkBytes; }

bool are_slabs(PerAxis const& shape, std::vector<Box> const& boxes) {
    return std::ranges::all_of(boxes, [&](Box const& box) {
        return shape.empty() || std::equal(shape.begin() + 1, shape.end(), box.shape.begin() + 1);
    });
}

// Returns the extents that make all boxes cells of one grid, of which the last along an axis may be smaller; empty if
// there are none.
PerAxis grid_of(PerAxis const& shape, std::vector<Box> const& boxes) {
    PerAxis cell(shape.size(), 1);
    for (auto const& box : boxes) {
        for (std::size_t axis = 0; axis < shape.size(); ++axis) cell[axis] = std::max(cell[axis], box.shape[axis]);
    }
    for (auto const& box : boxes) {
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            auto const rest = shape[axis] - box.start[axis];
            if (box.start[axis] % cell[axis] != 0 || box.shape[axis] != std::min(cell[axis], rest)) return {};
        }
    }
    return cell;
}

std::uint64_t largest_divisor(std::uint64_t value, std::uint64_t limit) {
    auto divisor = std::clamp<std::uint64_t>(limit, 1, value);
    while (value % divisor != 0) --divisor;
    return divisor;
}

// Returns a chunk of at most `most` bytes; with `dividing`, so that a cell is a whole number of chunks along every
// axis.
PerAxis smaller(PerAxis chunk, std::uint64_t element_bytes, std::uint64_t most, bool dividing) {
    for (auto& extent : chunk) {
        auto const bytes = count_of(chunk) * element_bytes;
        if (bytes <= most) break;
        auto const limit = std::max<std::uint64_t>(1, most / (bytes / extent));
        extent = dividing ? largest_divisor(extent, limit) : std::min(extent, limit);
    }
    return chunk;
}

// Returns the chunk of a grid's cells; empty if it would be too small, or cannot be.
PerAxis chunk_of(ArrayPlan const& plan, PerAxis const& cell) {
    if (cell.empty()) return {};
    auto chunk = smaller(cell, plan.element_bytes(), most_bytes(plan), true);
    auto const bytes = count_of(chunk) * plan.element_bytes();
    auto const cell_bytes = count_of(cell) * plan.element_bytes();
    if (bytes >= std::min(kLeastChunkBytes, cell_bytes)) return chunk;
    return cell_bytes <= kMostChunkBytes ? cell : PerAxis{};
}

std::vector<ArrayPage> pages_in(Box const& box, PerAxis const& chunk) {
    std::vector<ArrayPage> pages;
    auto at = box.start;
    for (bool more = box.count() > 0; more;) {
        ArrayPage page{{at, chunk}};
        for (std::size_t axis = 0; axis < at.size(); ++axis) {
            page.box.shape[axis] = std::min(chunk[axis], box.end(axis) - at[axis]);
        }
        pages.push_back(std::move(page));
        more = false;
        for (std::size_t axis = at.size(); axis-- > 0 && !more;) {
            at[axis] += chunk[axis];
            more = at[axis] < box.end(axis);
            if (!more) at[axis] = box.start[axis];
        }
    }
    return pages;
}

} // namespace

void choose_layout(ArrayPlan& plan, std::vector<OwnedBox> const& boxes) {
    std::vector<Box> filled;
    for (auto const& owned : boxes) {
        if (owned.box.count() > 0) filled.push_back(owned.box);
    }
    plan.layout = Layout::contiguous;
    if (plan.shape.empty()) plan.codec = "none"; // a single value
    if (filled.empty() || (plan.codec == "none" && are_slabs(plan.shape, filled))) return;
    plan.chunk = chunk_of(plan, grid_of(plan.shape, filled));
    plan.layout = plan.chunk.empty() ? Layout::separate : Layout::chunked;
}

ArrayPart part_of(ArrayPlan const& plan, Box const& box) {
    ArrayPart part{box};
    if (plan.layout == Layout::chunked) {
        part.chunk = plan.chunk;
    } else if (plan.codec != "none") {
        part.chunk = smaller(box.shape, plan.element_bytes(), kEncodedChunkBytes, false);
    }
    part.pages = pages_in(box, part.chunk.empty() ? box.shape : part.chunk);
    if (plan.layout != Layout::contiguous) return part;
    for (auto& page : part.pages) {
        auto const rows = plan.shape.empty() ? 0 : page.box.start[0];
        auto const row_bytes = plan.shape.empty() ? 0 : plan.bytes() / plan.shape[0];
        page.offset = plan.base + rows * row_bytes;
        page.stored_bytes = page.box.count() * plan.element_bytes();
    }
    return part;
}

void to_json(nlohmann::json& json, ArrayPlan const& plan) {
    json = {{"name", plan.name},   {"type", model::name_of(plan.scalar)},     {"shape", plan.shape},
            {"codec", plan.codec}, {"layout", static_cast<int>(plan.layout)}, {"chunk", plan.chunk},
            {"base", plan.base}};
}

void from_json(nlohmann::json const& json, ArrayPlan& plan) {
    json.at("name").get_to(plan.name);
    plan.scalar = model::parse_scalar(json.at("type").get<std::string>());
    json.at("shape").get_to(plan.shape);
    json.at("codec").get_to(plan.codec);
    plan.layout = static_cast<Layout>(json.at("layout").get<int>());
    json.at("chunk").get_to(plan.chunk);
    json.at("base").get_to(plan.base);
}

} // namespace thalweg::checkpoint
