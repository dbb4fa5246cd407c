#include "thalweg/checkpoint/declare.h"

#include <fmt/format.h>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "thalweg/base/error.h"
#include "thalweg/base/utf8.h"
#include "thalweg/codec/codec.h"

namespace thalweg::checkpoint {
namespace {

[[noreturn]] void refuse(std::string const& name, std::string const& why, std::string const& suggestion = {}) {
    base::fail_usage({fmt::format("the array '{}' cannot be saved", base::readable(name)), why, suggestion});
}

void check_name(std::string const& name) {
    std::string_view rest = name;
    if (!base::is_utf8(name) || name.find('\0') != name.npos) refuse(name, "its name is no text in UTF-8");
    for (bool more = true; more;) {
        auto const end = rest.find('/');
        auto const part = rest.substr(0, end);
        if (part.empty() || part == "." || part == ".." || part == ".parts") {
            refuse(name, fmt::format("HDF5 has no such name as '{}'", part), "take a name such as psi or fields/psi");
        }
        more = end != rest.npos;
        if (more) rest = rest.substr(end + 1);
    }
    if (name == "thalweg" || name.starts_with("thalweg/")) refuse(name, "that group is Thalweg's own");
}

void check_block(Array const& array, Block const& block) {
    auto const axes = array.shape.size();
    if (block.box.start.size() != axes || block.box.shape.size() != axes) {
        refuse(array.name, fmt::format("a block starts at {} and has the shape {}, and the array has {} axes",
                                       text_of(block.box.start), text_of(block.box.shape), axes));
    }
    if (!block.strides.empty() && block.strides.size() != axes) {
        refuse(array.name, fmt::format("a block has {} strides and {} axes", block.strides.size(), axes));
    }
    if (block.data == nullptr && block.box.count() > 0) refuse(array.name, "a block with elements has no data");
}

void check_size(Array const& array) {
    auto left = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / model::size_bytes(array.scalar);
    if (array.shape.size() > 31) refuse(array.name, fmt::format("it has {} axes, HDF5 takes 31", array.shape.size()));
    for (auto const extent : array.shape) {
        if (extent > left) refuse(array.name, fmt::format("no file is as large as its shape {}", text_of(array.shape)));
        left /= extent == 0 ? 1 : extent;
    }
}

// The properties that all ranks with blocks must declare alike.
constexpr std::array<std::pair<char const*, char const*>, 3> kAlike{
    {{"shape", "shape"}, {"type", "type of elements"}, {"codec", "codec"}}};

std::string shown(Json const& json) {
    if (json.is_string()) return json.get<std::string>();
    return checkpoint::text_of(json.get<PerAxis>());
}

void compare(std::string const& name, Json const& first, std::size_t first_rank, Json const& other, std::size_t rank) {
    for (auto const& [key, what] : kAlike) {
        if (first.at(key) == other.at(key)) continue;
        refuse(name,
               fmt::format("the ranks disagree about its {}: rank {} says {}, rank {} says {}", what, first_rank,
                           shown(first.at(key)), rank, shown(other.at(key))),
               "all ranks give the same");
    }
}

ArrayPlan plan_array(std::string const& name, std::vector<Json> const& declarations) {
    Json const* first = nullptr;
    std::size_t first_rank = 0;
    std::vector<OwnedBox> boxes;
    for (std::size_t rank = 0; rank < declarations.size(); ++rank) {
        auto const& said = declarations[rank].at(name);
        if (said.at("boxes").empty()) continue; // it need not know the array
        if (first == nullptr) {
            first = &said;
            first_rank = rank;
        }
        compare(name, *first, first_rank, said, rank);
        for (auto const& box : said.at("boxes")) boxes.push_back({box.get<Box>(), rank});
    }
    if (first == nullptr) refuse(name, "no rank has a block of it", "give an empty block, of which its shape is known");
    ArrayPlan plan{name, model::parse_scalar(first->at("type").get<std::string>()), first->at("shape").get<PerAxis>(),
                   first->at("codec").get<std::string>()};
    auto const why = why_not_whole(plan.shape, boxes);
    if (!why.empty()) refuse(name, why, "the blocks of all ranks have every element once");
    choose_layout(plan, boxes);
    return plan;
}

// "a" and "a/b" cannot both be: one would be a dataset, the other lies in a group.
void check_groups(std::vector<ArrayPlan> const& plans) {
    std::set<std::string> names;
    for (auto const& plan : plans) names.insert(plan.name);
    for (auto const& name : names) {
        for (auto end = name.find('/'); end != name.npos; end = name.find('/', end + 1)) {
            auto const group = name.substr(0, end);
            if (names.contains(group)) refuse(name, fmt::format("there is an array '{}', too", group));
        }
    }
}

} // namespace

Json declare(std::vector<Array> const& arrays) {
    auto said = Json::object();
    for (auto const& array : arrays) {
        check_name(array.name);
        if (said.contains(array.name)) refuse(array.name, "it is given twice");
        check_size(array);
        codec::Spec::parse(array.codec);
        auto boxes = Json::array();
        for (auto const& block : array.blocks) {
            check_block(array, block);
            boxes.push_back(block.box);
        }
        said[array.name] = {{"type", model::name_of(array.scalar)},
                            {"shape", array.shape},
                            {"codec", array.codec},
                            {"boxes", std::move(boxes)}};
    }
    return said;
}

std::vector<ArrayPlan> plan_arrays(std::vector<Json> const& declarations) {
    auto const& first = declarations.at(0);
    for (std::size_t rank = 1; rank < declarations.size(); ++rank) {
        auto const& other = declarations[rank];
        for (auto const& [name, _] : first.items()) {
            if (!other.contains(name))
                refuse(name, fmt::format("rank 0 has it, rank {} does not", rank), "all ranks name it");
        }
        for (auto const& [name, _] : other.items()) {
            if (!first.contains(name))
                refuse(name, fmt::format("rank {} has it, rank 0 does not", rank), "all ranks name it");
        }
    }
    std::vector<ArrayPlan> plans;
    for (auto const& [name, _] : first.items()) plans.push_back(plan_array(name, declarations));
    check_groups(plans);
    return plans;
}

} // namespace thalweg::checkpoint
