#include "thalweg/dataset/node_folder/shared_keys.h"

#include <fmt/format.h>
#include <optional>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/dataset/node_folder/folder_pause.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kLongestMemoryNs = 60'000'000'000; // of clients of network file systems, as they come

std::string hexadecimal(std::string const& bytes) {
    std::string text;
    for (auto const byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return text;
}

} // namespace

// Returns the name of the node that has the label, which is this one if it could be made. A machine that has not found
// a name may keep that for a while: so both are tried again.
std::string SharedKeys::owner_of(std::string const& path, std::string const& me) const {
    FolderPause pause;
    for (auto const end_ns = base::monotonic_ns() + kLongestMemoryNs;;) {
        if (base::make_label(path, me)) return me;
        if (auto owner = base::read_label(path)) return *std::move(owner);
        if (base::monotonic_ns() >= end_ns)
            base::fail_system({path + " was taken away", "", fmt::format("leave {} alone", parts_.path())});
        pause.pause();
    }
}

bool SharedKeys::take(UnitKey const& key) {
    std::optional<std::int64_t> group;
    if (key.is_integer) group = group_of(key.integer, together_);
    if (group && together_ > 1) {
        base::Lock const lock(mutex_);
        if (mine_.contains(*group)) return true;
    }
    auto const path = fmt::format("{}/{}", parts_.keys(), group ? std::to_string(*group) : "x" + hexadecimal(key.text));
    auto const me = name_of_node(node_);
    if (owner_of(path, me) != me) return false;
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
