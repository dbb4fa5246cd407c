#include "tests/simulator/node_scenario.h"

#include <fmt/format.h>

namespace thalweg::simulator {
namespace {

constexpr std::uint64_t kHourNs = 3'600'000'000'000;

// Makes pages so large that a few hundred rows fill a region.
model::Schema schema_of_large_rows(Random& random) {
    model::Field const row{"row", model::Kind::scalar, model::Scalar::uint64, {}, {}, "", ""};
    model::Field wide{"wide", model::Kind::scalar, model::Scalar::uint64, {}, {}, "", ""};
    wide.shape = {random.between(2000, 6000)};
    return {{{"table0", {row, wide}, ""}}};
}

Survival random_survival(Random& random) {
    Survival survival;
    survival.share = random.one_of({0.0, 0.0, 0.1, 0.5, 0.9, 1.0});
    survival.sectors = random.chance(0.5);
    survival.names_any = random.chance(0.3);
    return survival;
}

Weather weather_of_nodes(Random& random) {
    Weather weather;
    weather.steps_per_turn = random.one_of({30u, 300u, 1000u, 1000u});
    if (random.chance(0.3)) weather.stall_chance = 0.0005;
    if (random.chance(0.3)) weather.longest_stall_ns = 6'000'000'000; // longer than some nodes wait for a heartbeat
    weather.longest_sync_ns = random.one_of({100'000u, 5'000'000u, 100'000'000u});
    weather.longest_write_ns = random.one_of({50'000u, 1'000'000u, 50'000'000u});
    if (random.chance(0.1)) weather.disk_bytes = random.between(256 << 10, 60 << 20);
    if (random.chance(0.03)) weather.fail_sync = random.below(40);
    if (random.chance(0.03)) weather.fail_write = random.below(300);
    if (random.chance(0.05)) weather.refuse_reserve = random.below(10);
    return weather;
}

NodeEvent random_event(NodeScenario const& scenario, Random& random) {
    using What = NodeEvent::What;
    using When = NodeEvent::When;
    NodeEvent event;
    event.what = random.one_of({What::kill_process, What::kill_machine, What::kill_machine, What::stop_machine});
    event.when = random.one_of({When::creation, When::run, When::run, When::close, When::completion});
    event.turns = random.any_size(event.when == When::run ? 6000 : 800);
    event.machine = static_cast<std::uint32_t>(random.below(scenario.machines.size()));
    auto const long_ns = 2 * scenario.timeout_ns + 3'000'000'000;
    event.duration_ns = random.one_of({scenario.timeout_ns / 2, long_ns, 4 * long_ns});
    event.survival = random_survival(random);
    return event;
}

NodePlan random_plan(Random& random, std::uint32_t node) {
    NodePlan plan;
    plan.comes = node == 0 || !random.chance(0.03);
    plan.comes_twice = node > 0 && random.chance(0.1);
    plan.comes_after_ns = random.chance(0.5) ? 0 : random.any_size(1'000'000'000);
    plan.workers = random.below(3);
    plan.end = random.chance(0.9)   ? Scenario::End::close
               : random.chance(0.5) ? Scenario::End::abandon
                                    : Scenario::End::forget;
    return plan;
}

} // namespace

std::string str(NodeEvent const& event) {
    using What = NodeEvent::What;
    auto const machine = event.machine + 1;
    if (event.what == What::kill_process) return fmt::format("a process of machine {} is killed", machine);
    if (event.what == What::stop_machine)
        return fmt::format("machine {} stands still for {:.3f} s", machine,
                           static_cast<double>(event.duration_ns) / 1e9);
    return fmt::format("machine {} dies, {} of its {} stay", machine, event.survival.share,
                       event.survival.sectors ? "sectors" : "writes");
}

std::string str(NodeScenario const& scenario) {
    auto text =
        fmt::format("{} nodes, which {}, and share {} keys; they wait {} s", scenario.nodes.size(),
                    scenario.goes_on ? "go on without the dead" : "end with one of them",
                    scenario.run.options.nodes.rules.keys_together, static_cast<double>(scenario.timeout_ns) / 1e9);
    for (std::size_t node = 0; node < scenario.nodes.size(); ++node) {
        auto const& plan = scenario.nodes[node];
        text += fmt::format("; node {} {} with {} workers, and {}", node + 1,
                            !plan.comes        ? "does not come"
                            : plan.comes_twice ? "comes twice"
                                               : "comes",
                            plan.workers,
                            plan.end == Scenario::End::close     ? "closes"
                            : plan.end == Scenario::End::abandon ? "abandons"
                                                                 : "forgets");
    }
    return text;
}

NodeScenario draw_node_scenario(Container container, std::uint64_t seed) {
    Random random(mix(seed ^ 0x6e6f646573));
    NodeScenario scenario;
    scenario.run = draw_scenario(container, random);
    auto& run = scenario.run;
    run.weather = weather_of_nodes(random);
    if (random.chance(0.12)) {
        run.schema = schema_of_large_rows(random);
        run.options.layout.wide_codec = run.options.layout.narrow_codec = "none";
        run.appends = 20;
        run.rows = 60;
    }
    run.options.commit.journal_units = random.chance(0.5);
    auto const nodes = static_cast<std::uint32_t>(random.between(2, 4));
    scenario.timeout_ns = random.one_of({std::uint64_t{1'200'000'000}, std::uint64_t{3'000'000'000}});
    scenario.goes_on = random.chance(0.5);
    scenario.shares_keys = random.chance(0.5);
    run.options.nodes.nodes = nodes;
    run.options.nodes.timeout_ns = scenario.timeout_ns;
    run.options.nodes.rules.goes_on = scenario.goes_on;
    if (scenario.shares_keys) run.options.nodes.rules.keys_together = random.between(1, 5);
    for (std::uint32_t node = 0; node < nodes; ++node) {
        scenario.machines.push_back({.host = fmt::format("host{}", node + 1),
                                     .boot = fmt::format("boot-{}-{}", seed, node),
                                     .clock_ns = random.chance(0.5) ? 0 : random.any_size(kHourNs)});
        scenario.nodes.push_back(random_plan(random, node));
    }
    for (auto events = random.one_of({0u, 1u, 1u, 1u, 2u, 2u, 3u}); events > 0; --events)
        scenario.events.push_back(random_event(scenario, random));
    scenario.recovers_without_asking = random.chance(0.15);
    scenario.recovers_the_stopped = random.chance(0.7);
    scenario.readers = random.chance(0.2) ? 1 : 0;
    Random questions(mix(seed ^ 0x7175657374));
    draw_questions(run.weather, questions);
    Random full_disk(mix(seed ^ 0x66756c6c));
    draw_full_disk(run, full_disk);
    return scenario;
}

} // namespace thalweg::simulator
