#include "thalweg/dataset/node_folder/node_watch.h"

#include <fmt/format.h>
#include <optional>
#include <utility>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kIntervalNs = 1'000'000'000;

std::string host_of(std::string const& journal) {
    try {
        auto const file = storage::open_file_storage(journal, storage::OpenMode::read_only, storage::Engine::posix);
        return read_start(*file).preamble.host;
    } catch (base::Error const&) {
        return "";
    }
}

} // namespace

std::string silent_node(PartsFolder const& parts, std::uint32_t node, std::uint64_t silent_ns) {
    return fmt::format("{} ({}) has been silent for {} s", name_of_node(node), host_of(parts.journal(node)),
                       silent_ns / 1'000'000'000);
}

NodeWatch::NodeWatch(NodeShare const& share)
    : share_(share), neighbour_(share.next_living()), life_(share.parts.beats(neighbour_)) {}

std::string NodeWatch::problem() {
    auto const now = base::monotonic_ns();
    if (!problem_.empty() || now < next_look_ns_) return problem_;
    next_look_ns_ = now + kIntervalNs;
    look_at_neighbour();
    note_deaths();
    problem_ = share_.superseded();
    if (auto const why = share_.failure(); !why.empty()) problem_ = why;
    return problem_;
}

void NodeWatch::note_deaths() {
    if (!share_.rules.goes_on) return;
    for (auto const node : share_.parts.dead_nodes()) {
        auto const why = node == share_.which.node ? std::nullopt : share_.parts.announced(dead_name(node));
        if (why && dead_.insert(node).second) deaths_.push_back(fmt::format("{} ({})", name_of_node(node), *why));
    }
}

std::vector<std::string> NodeWatch::new_deaths() { return std::exchange(deaths_, {}); }

// If that one has died, the one behind it is the neighbour.
void NodeWatch::look_at_neighbour() {
    if (auto const next = share_.next_living(); next != neighbour_) {
        neighbour_ = next;
        life_ = SignOfLife(share_.parts.beats(next));
        is_over_ = false;
    }
    if (is_over_ || neighbour_ == share_.which.node) return;
    auto const silent_ns = life_.silent_ns();
    // Behind the look at its life, of which it may give no sign any more once it has finished.
    is_over_ = share_.parts.announced(finished_name(neighbour_)).has_value();
    if (!is_over_ && silent_ns > share_.timeout_ns)
        share_.announce_death(neighbour_, silent_node(share_.parts, neighbour_, silent_ns));
}

} // namespace thalweg::dataset
