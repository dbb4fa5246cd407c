// Usage: strategies names, which prints the names, or
// strategies NAME save|restore PATH BYTES [HINT=VALUE...]. Other ways to save BYTES of each rank, durable at the
// end, and to restore them, which fails if other values come back. Rank 0 prints as JSON the time of each phase, the
// hints that were in effect, those that were requested in vain, and which ranks wrote.
#include "strategies.h"

namespace {

std::string phases_as_json(Job const& job) {
    std::string text;
    for (auto const& [name, seconds] : job.phases) {
        text += "\"" + name + "_s\": " + std::to_string(longest(seconds)) + ", ";
    }
    return text;
}

auto all_strategies() {
    auto all = posix_strategies();
    for (auto& more : {mpiio_strategies(ranks()), hdf5_strategies()}) all.insert(more.begin(), more.end());
    return all;
}

std::string names() {
    std::string known;
    for (auto const& each : all_strategies()) known += " " + each.first;
    return known;
}

Strategy strategy_named(std::string const& name) {
    auto const all = all_strategies();
    auto const found = all.find(name);
    if (found == all.end()) fail("there is no strategy " + name + ", but" + names());
    return found->second;
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    if (argc == 2 && std::string_view(argv[1]) == "names") {
        if (rank_of() == 0) std::printf("%s\n", names().c_str());
        MPI_Finalize();
        return 0;
    }
    if (argc < 5) fail("strategies names, or NAME save|restore PATH BYTES [HINT=VALUE...]");
    auto const strategy = strategy_named(argv[1]);
    auto const expected = values_of(std::strtoull(argv[4], nullptr, 10), static_cast<std::uint64_t>(rank_of()) + 1);
    Job job(argv[3], expected);
    for (int i = 5; i < argc; ++i) job.hints.emplace_back(argv[i]);
    bool const saves = std::string(argv[2]) == "save";
    if (!saves) std::ranges::fill(job.values, 0.0); // this also touches the memory
    auto const before = written_so_far();
    meet();
    auto const begin = now();
    job.begin();
    (saves ? strategy.save : strategy.restore)(job);
    auto const seconds = longest(now() - begin);
    if (job.values != expected) fail("what was read is not what was saved");
    auto const written = told_since(before);
    auto const phases = phases_as_json(job);
    if (rank_of() == 0) {
        std::printf("{\"seconds\": %.6f, %s\"raw_bytes\": %llu, %s, \"hints\": \"%s\", \"ignored\": \"%s\"}\n", seconds,
                    phases.c_str(), static_cast<unsigned long long>(job.bytes() * static_cast<std::uint64_t>(ranks())),
                    written.c_str(), job.in_effect.c_str(), job.ignored.c_str());
    }
    MPI_Finalize();
}
