#include "thalweg/dataset/node_folder/shared_keys.h"

#include <fmt/format.h>
#include <optional>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"

namespace thalweg::dataset {
namespace {

std::string hexadecimal(std::string const& bytes) {
    std::string text;
    for (auto const byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return text;
}

} // namespace

bool SharedKeys::take(UnitKey const& key) {
    std::optional<std::int64_t> group;
    if (key.is_integer) group = group_of(key.integer, together_);
    if (group && together_ > 1) {
        base::Lock const lock(mutex_);
        if (mine_.contains(*group)) return true;
    }
    auto const path = fmt::format("{}/{}", parts_.keys(), group ? std::to_string(*group) : "x" + hexadecimal(key.text));
    auto const me = name_of_node(node_);
    if (!base::make_label(path, me)) {
        auto const owner = base::read_label(path);
        if (!owner) base::fail_system({path + " was taken away", "", fmt::format("leave {} alone", parts_.path())});
        if (*owner != me) return false;
    }
    if (group && together_ > 1) {
        base::Lock const lock(mutex_);
        mine_.insert(*group);
    }
    return true;
}

void SharedKeys::sync() const { base::sync_directory_of(parts_.keys() + "/"); }

std::unique_ptr<SharedKeys> shared_keys(PartsFolder const& parts, std::uint32_t node, NodeRules const& rules) {
    if (rules.keys_together == 0) return nullptr;
    return std::make_unique<SharedKeys>(parts, node, rules.keys_together);
}

} // namespace thalweg::dataset
