#include <algorithm>

#include "tests/simulator/history.h"

namespace thalweg::simulator {
namespace {

std::string random_codec(Container container, Random& random) {
    if (container == Container::rntuple) return random.one_of<char const*>({"none", "lz4", "zstd-1"});
    return random.one_of<char const*>({"none", "lz4", "bitshuffle+lz4", "shuffle+deflate-1", "zstd-1"});
}

dataset::CreateOptions random_options(Container container, Random& random) {
    dataset::CreateOptions options;
    options.whole_file_checksum = random.chance(0.3);
    options.layout.wide_page_bytes = random.between(512, 2048);
    options.layout.narrow_page_bytes = random.between(64, 1024);
    options.layout.block_bytes = random.between(1 << 10, 16 << 10);
    options.layout.cluster_bytes = random.between(1 << 10, 16 << 10);
    options.layout.wide_codec = random_codec(container, random);
    options.layout.narrow_codec = random_codec(container, random);
    options.write.extent_bytes = random.between(4 << 10, 16 << 10);
    options.write.queue_depth = random.between(1, 4);
    options.write.seal_threads = random.chance(0.2) ? 2 : 0;
    options.write.staging.page_ring_bytes = random.between(4 << 10, 32 << 10);
    options.write.staging.memory_bytes = random.one_of({4u << 10, 64u << 10, 512u << 10});
    options.write.staging.min_buffers = random.between(3, 4);
    options.write.unbuffered_bytes = options.layout.block_bytes / 8; // so that batches of any size have such pages
    options.write.staging.ring_size = random.one_of({8u, 16u, 32u});
    options.commit.flush_interval_ns = random.any_size(50'000'000) + 1'000'000;
    options.commit.allocate_ahead_bytes = random.one_of({1u << 20, 2u << 20, 4u << 20});
    options.commit.rows_budget_bytes = random.one_of({512u, 8u << 10, 64u << 10});
    return options;
}

Weather random_weather(Random& random) {
    Weather weather;
    weather.steps_per_turn = random.one_of({10u, 100u, 1000u, 1000u});
    if (random.chance(0.3)) weather.stall_chance = 0.001;
    weather.longest_sync_ns = random.one_of({100'000u, 5'000'000u, 100'000'000u});
    weather.longest_write_ns = random.one_of({50'000u, 1'000'000u, 50'000'000u});
    if (random.chance(0.1)) weather.disk_bytes = random.between(256 << 10, 20 << 20);
    if (random.chance(0.05)) weather.memory_bytes = random.between(100 << 10, 1 << 20);
    if (random.chance(0.05)) weather.fail_sync = random.below(30);
    if (random.chance(0.05)) weather.fail_write = random.below(300);
    if (random.chance(0.05)) weather.refuse_reserve = random.below(10);
    return weather;
}

} // namespace

Scenario draw_scenario(Container container, Random& random) {
    Scenario scenario;
    scenario.path = std::string(kDirectory) + (container == Container::hdf5 ? "/run.h5" : "/run.root");
    scenario.schema = random_schema(random);
    scenario.options = random_options(container, random);
    scenario.weather = random_weather(random);
    scenario.workers = random.between(1, 3);
    scenario.appends = random.between(1, 12);
    scenario.rows = random.any_size(60);
    scenario.share_of_units = random.one_of({0.0, 0.0, 0.5, 1.0});
    scenario.keys = random.between(1, 20);
    scenario.readers = random.chance(0.15) ? 1 : 0;
    scenario.kills = random.chance(0.5) ? random.between(1, 3) : 0;
    scenario.turns_to_kill = random.any_size(3000) + 1;
    scenario.turns_to_snapshot = random.any_size(600) + 1;
    scenario.end = random.chance(0.8)   ? Scenario::End::close
                   : random.chance(0.5) ? Scenario::End::abandon
                                        : Scenario::End::forget;
    return scenario;
}

void draw_lives(Scenario& scenario, Random& random) {
    scenario.lives = random.one_of({1u, 1u, 1u, 2u, 2u, 3u});
    scenario.turns_of_life = random.any_size(800) + 1;
}

void draw_full_disk(Scenario& scenario, Random& random) {
    auto& weather = scenario.weather;
    if (random.chance(0.1)) weather.disk_bytes = random.between(256 << 10, 20 << 20);
    if (weather.disk_bytes == Weather::kLargeDiskBytes || !random.chance(0.7)) return;
    if (random.chance(0.7)) weather.disk_full_from_ns = World::kBeginNs + random.any_size(100'000'000);
    weather.disk_full_until_ns = weather.disk_full_from_ns + random.any_size(1'000'000'000);
    if (weather.disk_full_from_ns == 0) weather.disk_full_until_ns += World::kBeginNs;
}

void draw_freezes(Scenario& scenario, Random& random) {
    if (random.chance(0.3)) {
        scenario.weather.freeze_chance = random.one_of({0.02, 0.2});
        scenario.weather.most_freezes = random.between(1, 2);
    }
    if (random.chance(0.3)) scenario.weather.freeze_turn = random.any_size(8000);
}

void draw_rotations(Scenario& scenario, Random& random) {
    if (!random.chance(0.35)) return;
    scenario.rotations = random.between(1, 3);
    scenario.turns_to_rotate = random.any_size(1500) + 1;
}

void draw_questions(Weather& weather, Random& random) {
    if (random.chance(0.15)) weather.no_answer_chance = random.one_of({0.003, 0.03, 0.3});
}

void draw_interim(Scenario& scenario, Random& random) {
    scenario.options.commit.interim_footer_share = random.one_of({0.0, 0.01, 1.0, 10.0, 100.0});
}

void draw_copiers(Scenario& scenario, Random& random) { scenario.copiers = random.chance(0.2) ? 1 : 0; }

void draw_order(Scenario& scenario, Container container, Random& random) {
    scenario.options.commit.journal_units = random.chance(0.5);
    if (container != Container::rntuple || !random.chance(0.3)) return;
    scenario.options.keys_per_group = random.between(1, 4);
    auto const groups = random.between(1, 8);
    scenario.keys = groups * scenario.options.keys_per_group;
    scenario.first_group = -static_cast<std::int64_t>(random.below(groups + 1));
}

} // namespace thalweg::simulator
