#include "thalweg/dataset/node_ending.h"

#include <fmt/format.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/commit/node_watch.h"
#include "thalweg/dataset/journal/journal.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kBeatNs = 1'000'000'000;

std::string completing(NodeShare const& share) { return share.parts.path() + "/completing"; }

} // namespace

std::string names_of(std::vector<std::uint32_t> const& nodes) {
    std::string names;
    for (auto const node : nodes) names += (names.empty() ? "" : ", ") + name_of_node(node);
    return names;
}

NodeEnding::NodeEnding(NodeShare const& share, std::string path)
    : share_(share), path_(std::move(path)), completing_(completing(share)) {
    for (std::uint32_t node = 0; node < share.which.nodes; ++node) lives_.emplace_back(share.parts.journal(node));
    if (share.which.node == 0) thread_ = base::Thread([this] { beat(); });
    share.parts.announce(finished_name(share.which.node), "all of it is in its journal");
}

NodeEnding::~NodeEnding() {
    {
        base::Lock const lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
}

// A file that grows. Where it cannot be written the others will say that this node is silent.
void NodeEnding::beat() {
    try {
        auto const file =
            storage::open_file_storage(completing(share_), storage::OpenMode::create_new, storage::Engine::posix);
        base::Lock lock(mutex_);
        for (std::uint64_t beats = 0; !stop_; ++beats) {
            file->write(beats, std::as_bytes(std::span("+", 1)));
            wake_.wait_for(lock, kBeatNs);
        }
    } catch (base::Error const&) {
    }
}

void NodeEnding::check_silence(std::uint32_t node, std::uint64_t silent_ns) {
    if (silent_ns > share_.timeout_ns) share_.announce_failure(silent_node(share_.parts, node, silent_ns));
}

std::vector<std::uint32_t> NodeEnding::unfinished() {
    std::vector<std::uint32_t> nodes;
    for (std::uint32_t node = 0; node < share_.which.nodes; ++node) {
        if (node == share_.which.node) continue;
        if (!share_.parts.announced(finished_name(node))) {
            nodes.push_back(node);
            check_silence(node, lives_[node].silent_ns());
        } else if (node == 0) {
            check_silence(node, completing_.silent_ns());
        }
    }
    if (is_over()) return {};
    if (auto const why = share_.failure(); !why.empty()) {
        base::fail_system({path_ + " cannot be completed by those who wrote it", why,
                           fmt::format("run `thalweg recover {}`", path_)});
    }
    return nodes;
}

bool NodeEnding::is_over() {
    if (share_.which.node > 0 && !summary_) summary_ = share_.parts.announced(kComplete);
    return summary_ || !exists(share_.parts.journal(0));
}

} // namespace thalweg::dataset
