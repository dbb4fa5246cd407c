#include "tests/simulator/node_history.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "tests/simulator/judge.h"
#include "tests/simulator/node_owner.h"
#include "tests/simulator/worker.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/read/reader.h"

namespace thalweg::simulator {
namespace {

constexpr std::int64_t kKeysOfNode = 1000;

class NodeHistory {
  public:
    NodeHistory(Workshop& workshop, Container container, std::uint64_t seed, std::size_t most_snapshots, Lie const& lie)
        : random_(mix(seed ^ 0x686973746f7279)), fate_(mix(seed ^ 0x66617465)),
          scenario_(draw_node_scenario(container, seed)), most_snapshots_(most_snapshots) {
        scenario_.run.weather.lying_file = lie.file;
        scenario_.run.weather.lying_to = lie.machine;
        promises_.rows.files = {{scenario_.run.path}};
        promises_.nodes.resize(scenario_.nodes.size());
        promises_.goes_on = scenario_.goes_on;
        DiskState disk;
        disk.names_outlive_machines = fate_.chance(0.5);
        world_.emplace(workshop, random_.word(), scenario_.run.weather, disk, MemoryState{}, World::kBeginNs,
                       scenario_.machines);
        handles_.resize(scenario_.nodes.size());
        owners_.resize(scenario_.nodes.size());
        result_.nodes = scenario_.nodes.size();
    }

    NodeHistoryResult run() {
        for (std::uint32_t node = 0; node < scenario_.nodes.size(); ++node) start_node(node);
        for (std::uint64_t i = 0; i < scenario_.readers; ++i) start_reader();
        if (scenario_.recovers_without_asking) start_impatient();
        next_snapshot_ = next(scenario_.run.turns_to_snapshot);
        fire(NodeEvent::When::creation);
        world_->run([&] {
            look_around();
            return false;
        });
        take_snapshot();
        result_.faults = world_->faults();
        result_.events = world_->events();
        result_.trace = world_->trace();
        result_.turns = world_->turns();
        return std::move(result_);
    }

  private:
    struct Planned {
        NodeEvent event;
        std::uint64_t turn;
    };

    std::uint64_t next(std::uint64_t about) { return world_->turns() + fate_.any_size(2 * about) + 1; }

    void start_node(std::uint32_t node) {
        auto const& plan = scenario_.nodes[node];
        for (int i = 0; plan.comes && i < (plan.comes_twice ? 2 : 1); ++i)
            owners_[node].push_back(world_->start_process([this, node] { own(node); }, node));
        for (std::uint64_t i = 0; i < plan.workers; ++i)
            workers_.emplace_back(node, world_->start_process([this, node] { work(node); }, node));
    }

    void own(std::uint32_t node) {
        base::sleep_ns(random_.any_size(scenario_.nodes[node].comes_after_ns));
        NodeOwner owner(*world_, scenario_, random_, promises_, node, handles_[node]);
        if (!owner.come()) return;
        owner.own([this, node] {
            return std::ranges::any_of(workers_, [&](auto const& worker) {
                return worker.first == node && world_->is_running(worker.second);
            });
        });
    }

    bool has_owner(std::uint32_t node) const {
        return std::ranges::any_of(owners_[node], [&](auto pid) { return world_->is_running(pid); });
    }

    void work(std::uint32_t node) {
        while (handles_[node].empty()) {
            if (!has_owner(node)) return;
            base::sleep_ns(2'000'000);
        }
        auto const first_key = scenario_.shares_keys ? 0 : kKeysOfNode * node;
        Worker(*world_, scenario_.run, random_, promises_.rows, node, first_key).work(handles_[node]);
    }

    // --- What happens to machines

    void fire(NodeEvent::When when) {
        for (auto const& event : scenario_.events) {
            if (event.when == when) planned_.push_back({event, world_->turns() + event.turns});
        }
    }

    void look_around() {
        auto const& weather = scenario_.run.weather;
        promises_.disk_failed = promises_.disk_failed || world_->disk_may_have_failed();
        promises_.rows.sync_failed = world_->syncs > weather.fail_sync;
        follow_parts();
        std::erase_if(planned_, [&](Planned const& planned) {
            if (world_->turns() < planned.turn) return false;
            happen(planned.event);
            return true;
        });
        maybe_recover_the_stopped();
        if (result_.snapshots.size() < most_snapshots_ && world_->turns() >= next_snapshot_) {
            next_snapshot_ = next(scenario_.run.turns_to_snapshot);
            take_snapshot();
        }
    }

    void follow_parts() {
        if (!run_seen_ && promises_.created()) {
            run_seen_ = true;
            fire(NodeEvent::When::run);
        }
        if (!close_seen_ && promises_.rows.close_begun) {
            close_seen_ = true;
            fire(NodeEvent::When::close);
            next_snapshot_ = world_->turns() + fate_.below(400);
            most_snapshots_ += 2;
        }
        if (!completion_seen_ && close_seen_ && world_->disk.find(scenario_.run.path + ".parts/closing") != nullptr) {
            completion_seen_ = true;
            fire(NodeEvent::When::completion);
            next_snapshot_ = world_->turns() + fate_.below(400);
            most_snapshots_ += 2;
        }
    }

    void happen(NodeEvent const& event) {
        using What = NodeEvent::What;
        world_->tell(str(event));
        if (event.what == What::kill_process) {
            std::vector<std::int32_t> pids;
            for (auto const pid : owners_[event.machine]) pids.push_back(pid);
            for (auto const& [node, pid] : workers_) {
                if (node == event.machine) pids.push_back(pid);
            }
            std::erase_if(pids, [&](auto pid) { return !world_->is_running(pid); });
            if (!pids.empty()) world_->kill(pids[fate_.below(pids.size())]);
        } else if (event.what == What::kill_machine) {
            if (!world_->machines()[event.machine].is_up) return;
            world_->kill_machine(event.machine, event.survival);
            ++result_.deaths;
            ++most_snapshots_;
            next_snapshot_ = world_->turns() + fate_.any_size(3000);
        } else {
            world_->stop_machine(event.machine, event.duration_ns);
            stopped_ = event.machine;
            ++result_.stops;
            ++most_snapshots_;
        }
    }

    // --- Others

    void start_reader() {
        auto const machine = static_cast<std::uint32_t>(fate_.below(scenario_.machines.size()));
        world_->start_process([this] { read(); }, machine);
    }

    void read() {
        for (int i = 0; i < 3; ++i) {
            base::sleep_ns(random_.any_size(400'000'000));
            if (!promises_.created() || promises_.rows.close_begun || promises_.recovery_begun) continue;
            auto const before = promises_;
            auto blame = [&](std::string const& text) { world_->blame("a reader of the open run: " + text); };
            World::Answering const answering(*world_);
            try {
                auto const reader = dataset::Reader::open(scenario_.run.path);
                World::Undivided const undivided(*world_);
                check_promises(expected_by_reader(before), read_all(*reader, blame), nothing_is_kept, blame);
            } catch (base::Error const& error) {
                // A machine that died may have announced pages that it had not synced. They are reported as damage.
                bool const may_be_damaged =
                    result_.deaths > 0 && dynamic_cast<base::DataError const*>(&error) != nullptr;
                if (!promises_.rows.close_begun && !promises_.recovery_begun && !may_be_damaged) blame(error.what());
            }
        }
    }

    static bool nothing_is_kept(std::uint32_t) { return false; }

    Promises expected_by_reader(NodePromises const& before) const {
        auto expected = promises_.rows;
        for (auto& [who, promise] : expected.producers) {
            auto const there = before.rows.producers.find(who);
            promise.durable = there == before.rows.producers.end() ? 0 : there->second.durable;
        }
        for (auto& [who, unit] : expected.units) {
            auto const there = before.rows.units.find(who);
            unit.durable = there != before.rows.units.end() && there->second.durable;
        }
        return expected;
    }

    // Recovers without saying that the other machines are down: that must be refused while one of them may write.
    void start_impatient() {
        auto const machine = static_cast<std::uint32_t>(fate_.below(scenario_.machines.size()));
        world_->start_process(
            [this] {
                base::sleep_ns(random_.any_size(2'000'000'000));
                if (!promises_.created()) return;
                auto const before = writing();
                try {
                    dataset::recover(scenario_.run.path);
                } catch (base::Error const&) {
                    return;
                }
                for (auto const node : before) {
                    if (has_owner(node) && !promises_.nodes[node].close_begun)
                        world_->blame(fmt::format("the run was recovered while node {} was writing it", node + 1));
                }
            },
            machine);
    }

    std::vector<std::uint32_t> writing() const {
        std::vector<std::uint32_t> nodes;
        for (std::uint32_t node = 0; node < owners_.size(); ++node) {
            if (promises_.nodes[node].joined && has_owner(node) && !promises_.nodes[node].close_begun)
                nodes.push_back(node);
        }
        return nodes;
    }

    bool is_stopped(std::uint32_t machine) const {
        return world_->machines()[machine].stopped_until_ns > world_->now_ns();
    }

    bool is_over_but_for(std::uint32_t machine) const {
        for (std::uint32_t node = 0; node < owners_.size(); ++node) {
            if (node != machine && has_owner(node)) return false;
        }
        return std::ranges::none_of(
            workers_, [&](auto const& worker) { return worker.first != machine && world_->is_running(worker.second); });
    }

    // A recovery assumes that the machine is down, and the machine comes back: after the recovery, or during it.
    void maybe_recover_the_stopped() {
        if (!stopped_ || !scenario_.recovers_the_stopped || promises_.recovery_begun || !promises_.created()) return;
        if (!is_stopped(*stopped_) || !is_over_but_for(*stopped_) || promises_.any_closed()) return;
        auto const stopped = *stopped_;
        std::vector<std::uint32_t> up;
        for (std::uint32_t machine = 0; machine < scenario_.machines.size(); ++machine) {
            if (machine != stopped && !is_stopped(machine)) up.push_back(machine);
        }
        if (up.empty()) return;
        promises_.recovery_begun = true;
        world_->tell(fmt::format("a recovery begins while machine {} stands still", stopped + 1));
        ++most_snapshots_;
        next_snapshot_ = next(400);
        if (fate_.chance(0.5)) world_->let_go_on(stopped, fate_.any_size(20'000'000));
        world_->start_process([this] { recover_the_stopped(); }, up[fate_.below(up.size())]);
    }

    void recover_the_stopped() {
        auto const blame = [&](std::string const& text) {
            world_->blame("when it was recovered while a machine stood still: " + text);
        };
        auto const before = promises_;
        dataset::RunReport report;
        try {
            report = dataset::recover(scenario_.run.path, {.all_nodes_are_down = true}).report;
        } catch (base::SystemError const&) {
            return; // a full disk
        } catch (base::Error const& error) {
            // The machine may stand still between the last write of a completion and its return.
            if (!opens_as_complete(scenario_.run.path))
                return blame(fmt::format("it cannot be recovered: {}", error.what()));
            return check_complete(*world_, scenario_.run.path, promises_, blame);
        }
        ++result_.recovered;
        check_complete(*world_, scenario_.run.path, promises_, blame);
        if (promises_.complete) check_what_is_lost_is_named(before, *promises_.complete, report, blame);
    }

    void take_snapshot() {
        result_.snapshots.push_back(
            {world_->disk, world_->names.state(), promises_, world_->now_ns(), world_->machines()});
    }

    Random random_; // for the processes that take part
    Random fate_;   // for what happens to them
    NodeScenario scenario_;
    std::size_t most_snapshots_;
    std::optional<World> world_;
    NodePromises promises_;
    std::vector<std::string> handles_;
    std::vector<std::vector<std::int32_t>> owners_;
    std::vector<std::pair<std::uint32_t, std::int32_t>> workers_; // node and process
    std::vector<Planned> planned_;
    std::optional<std::uint32_t> stopped_;
    std::uint64_t next_snapshot_ = 0;
    bool run_seen_ = false, close_seen_ = false, completion_seen_ = false;
    NodeHistoryResult result_;
};

} // namespace

bool NodePromises::created() const {
    return std::ranges::any_of(nodes, [](auto const& node) { return node.joined; });
}

bool NodePromises::is_there() const {
    auto const is_durable = [](auto const& each) { return each.second.durable != 0; };
    return nodes[0].joined || std::ranges::any_of(rows.producers, is_durable) ||
           std::ranges::any_of(rows.units, is_durable);
}

bool NodePromises::any_closed() const {
    return std::ranges::any_of(nodes, [](auto const& node) { return node.closed; });
}

bool NodePromises::close_begun_elsewhere(std::uint32_t node) const {
    for (std::uint32_t other = 0; other < nodes.size(); ++other) {
        if (other != node && nodes[other].close_begun) return true;
    }
    return false;
}

bool NodePromises::is_waited_for(std::uint32_t node) const {
    return !recovery_begun && !(goes_on && close_begun_elsewhere(node));
}

void check_what_is_lost_is_named(NodePromises const& promises, Found const& found, dataset::RunReport const& report,
                                 Blame const& blame) {
    auto const rows_of = [&](std::uint64_t table, std::uint64_t who) {
        auto const place = found.tables.at(table).find(who);
        return place == found.tables[table].end() ? 0 : place->second.size();
    };
    std::set<std::uint32_t> lacking;
    for (auto const& [who, promise] : promises.rows.producers) {
        if (rows_of(promise.table, who) < promise.taken) lacking.insert(promise.node);
    }
    for (auto const& [who, unit] : promises.rows.units) {
        if (unit.state != UnitPromise::State::committed) continue;
        for (auto const& [table, rows] : unit.rows) {
            if (rows_of(table, who) < rows) lacking.insert(unit.node);
        }
    }
    bool is_counted = report.units_lost > 0 || report.damaged_pages > 0;
    for (auto const& table : report.tables) is_counted = is_counted || table.lost_rows > 0;
    for (auto const node : lacking) {
        auto const name = fmt::format("node {}", node + 1);
        auto const journal = fmt::format("node-{:04}", node + 1);
        auto const names_it = [&](std::string const& note) {
            return note.find(name) != std::string::npos || note.find(journal) != std::string::npos;
        };
        if (!is_counted && !report.rows_may_be_missing)
            blame(fmt::format("rows of {} are lost, and nothing says so", name));
        if (!is_counted && std::ranges::none_of(report.notes, names_it))
            blame(fmt::format("rows of {} are lost, and no note names it", name));
    }
}

NodeHistoryResult run_node_history(Workshop& workshop, Container container, std::uint64_t seed,
                                   std::size_t most_snapshots, Lie const& lie) {
    return NodeHistory(workshop, container, seed, most_snapshots, lie).run();
}

} // namespace thalweg::simulator
