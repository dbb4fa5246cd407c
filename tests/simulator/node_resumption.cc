#include "tests/simulator/node_resumption.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "tests/simulator/node_owner.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/read/reader.h"

namespace thalweg::simulator {
namespace {

constexpr std::uint64_t kTimeoutNs = 20'000'000'000;
constexpr std::uint64_t kRows = 20;

class Resuming {
  public:
    Resuming(Workshop& workshop, std::string const& path, NodeSnapshot const& state, HasAll const& has_all,
             std::string name, Random& random)
        : path_(path), has_all_(has_all), name_(std::move(name)), random_(random), before_(state.promises),
          promises_(state.promises), nodes_(static_cast<std::uint32_t>(state.promises.nodes.size())), said_(nodes_),
          world_(workshop, random.word(), calm(random), state.disk, state.memory, state.now_ns, state.machines) {}

    Resumption play() {
        Resumption result;
        for (std::uint32_t node = 0; node < nodes_; ++node)
            world_.start_process([this, node] { take_part(node); }, node);
        auto stop = random_.chance(0.6) ? random_.any_size(3000) : kNever;
        world_.run([&] {
            if (world_.turns() < stop) return false;
            stop = kNever;
            result.stop = snapshot();
            result.stop_is_behind = was_read_;
            return false;
        });
        result.refused = !said_[0].empty();
        if (result.refused) check_refusal();
        result.after = snapshot();
        result.faults = world_.faults();
        return result;
    }

  private:
    void blame(std::string const& text) { world_.blame(fmt::format("{}, resumed: {}", name_, text)); }

    NodeSnapshot snapshot() const {
        return {world_.disk, world_.names.state(), promises_, world_.now_ns(), world_.machines()};
    }

    void take_part(std::uint32_t node) {
        std::unique_ptr<dataset::Writer> writer;
        try {
            base::sleep_ns(random_.any_size(1'000'000'000));
            writer = node == 0 ? dataset::Writer::resume(path_, {}, options())
                               : dataset::Writer::join(path_, node, returning());
        } catch (base::Error const& error) {
            said_[node] = error.what();
            return;
        }
        ++returned_;
        if (node == 0) look();
        while (!was_read_) base::sleep_ns(1'000'000);
        append(*writer, node);
        close(*writer, node);
    }

    dataset::CreateOptions options() const {
        dataset::CreateOptions options;
        options.nodes.nodes = nodes_;
        options.nodes.timeout_ns = kTimeoutNs;
        options.nodes.rules.goes_on = promises_.goes_on;
        return options;
    }

    static dataset::JoinOptions returning() {
        dataset::JoinOptions options;
        options.timeout_ns = kTimeoutNs;
        options.resume = true;
        return options;
    }

    // The rows that are there when all have returned stay, because they are durable.
    void look() {
        while (returned_ < nodes_) {
            if (std::ranges::any_of(said_, [](auto const& each) { return !each.empty(); })) break;
            base::sleep_ns(1'000'000);
        }
        auto const reader = dataset::Reader::open(path_);
        World::Undivided const undivided(world_);
        auto const found = read_all(*reader, [this](auto const& text) { blame(text); });
        check_promises(promises_.rows, found, has_all_, [this](auto const& text) { blame(text); });
        promises_.rows.was_resumed(found, world_.now_ns());
        for (auto& [who, promise] : promises_.rows.producers) promise.durable = promise.taken;
        for (auto& node : promises_.nodes) node.closed = node.kept = false; // that was in its earlier life
        for (auto& [who, unit] : promises_.rows.units) unit.durable = unit.state == UnitPromise::State::committed;
        was_read_ = true;
    }

    void append(dataset::Writer& writer, std::uint32_t node) {
        auto const who = promises_.rows.next_who++;
        auto const& table = writer.head().schema.tables.front();
        auto producer = writer.producer(table.name);
        promises_.rows.producers[who].node = node;
        promises_.rows.append_begins(who, kRows);
        Rows const data(producer.columns(), 0, who, 0, kRows);
        producer.append(kRows, data.spans());
        promises_.rows.append_returned(who, kRows, base::monotonic_ns());
        producer.finish();
    }

    void close(dataset::Writer& writer, std::uint32_t node) {
        promises_.rows.close_begun = promises_.nodes[node].close_begun = true;
        try {
            auto const report = writer.close(kTimeoutNs).report;
            promises_.nodes[node].closed = true;
            check_complete(world_, path_, promises_, [this](auto const& text) { blame(text); });
            if (report.nodes.empty() || !promises_.complete) return;
            check_what_is_lost_is_named(before_, *promises_.complete, report,
                                        [this](auto const& text) { blame(text); });
        } catch (base::Error const& error) {
            blame(fmt::format("node {} cannot close: {}", node + 1, error.what()));
        }
    }

    // A run of which nothing was promised may be refused, and so may one that was completed or recovered.
    void check_refusal() {
        if (returned_ > 0) blame("node 1 refused, and another one has returned: " + said_[0]);
        if (promises_.is_there() && !promises_.rows.close_begun && !promises_.recovery_begun && !promises_.disk_failed)
            blame("node 1 refused: " + said_[0]);
    }

    std::string path_;
    HasAll const& has_all_;
    std::string name_;
    Random& random_;
    NodePromises before_; // when it was resumed
    NodePromises promises_;
    std::uint32_t nodes_;
    std::vector<std::string> said_; // by node: why it was refused
    std::uint32_t returned_ = 0;
    bool was_read_ = false;
    World world_;
};

} // namespace

Resumption resume_nodes(Workshop& workshop, std::string const& path, NodeSnapshot const& state, HasAll const& has_all,
                        std::string const& name, Random& random) {
    return Resuming(workshop, path, state, has_all, name, random).play();
}

} // namespace thalweg::simulator
