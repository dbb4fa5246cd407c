// ours save|restore|async PATH BYTES [RANKS_THAT_SAVED]: what thalweg.checkpoint takes, printed by rank 0 as JSON.
#include "ranks.h"

#include <span>

#include "thalweg/checkpoint/mpi_communicator.h"
#include "thalweg/checkpoint/restore.h"
#include "thalweg/checkpoint/save.h"

using namespace thalweg::checkpoint;

namespace {

Array slab(std::vector<double> const& values) {
    std::uint64_t const count = values.size(), rank = static_cast<std::uint64_t>(rank_of());
    Array array{"psi", thalweg::model::Scalar::float64, {count * static_cast<std::uint64_t>(ranks())}};
    array.blocks.push_back({{{rank * count}, {count}}, values.data()});
    return array;
}

void tell_save(std::string const& path, std::uint64_t bytes, Communicator& comm) {
    auto const values = values_of(bytes, static_cast<std::uint64_t>(rank_of()) + 1);
    SaveOptions options;
    options.keep = 1;
    auto const writes = writes_so_far();
    meet();
    auto const begin = now();
    auto const report = save(path, {slab(values)}, comm, options);
    auto const seconds = longest(now() - begin);
    auto own = writes_so_far() - writes, all = std::uint64_t{0};
    MPI_Reduce(&own, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank_of() == 0) {
        std::printf("{\"seconds\": %.6f, \"raw_bytes\": %llu, \"writes\": %llu, \"engine\": \"%s\"}\n", seconds,
                    static_cast<unsigned long long>(report.bytes), static_cast<unsigned long long>(all),
                    report.engine.c_str());
    }
}

void tell_restore(std::string const& path, std::uint64_t bytes, bool verify, Communicator& comm) {
    auto const count = bytes / sizeof(double); // of each rank, whoever saved it
    std::vector<double> values(count);
    meet();
    auto const begin = now();
    auto const state = restore(path, comm, {.verify = verify});
    state.read("psi", {{count * static_cast<std::uint64_t>(rank_of())}, {count}},
               std::as_writable_bytes(std::span(values)));
    auto const seconds = longest(now() - begin);
    if (rank_of() == 0) {
        std::printf("{\"seconds\": %.6f, \"raw_bytes\": %llu}\n", seconds,
                    static_cast<unsigned long long>(count * sizeof(double) * static_cast<std::uint64_t>(ranks())));
    }
}

// A simulation's step: it goes through memory once.
void step(std::vector<double>& values) {
    for (auto& value : values) value = value * 0.999999 + 1.0;
}

double run_steps(std::vector<double>& values, int steps) {
    auto const begin = now();
    for (int i = 0; i < steps; ++i) step(values);
    return now() - begin;
}

// What a simulation loses: the time of as many steps with a save, less that without.
void tell_async(std::string const& path, std::uint64_t bytes, Communicator& comm) {
    auto values = values_of(bytes, static_cast<std::uint64_t>(rank_of()) + 1);
    SaveOptions options;
    options.keep = 1;
    save_async(path, {slab(values)}, comm, options).wait(); // whose memory is there from then on
    meet();
    auto begin = now();
    save(path, {slab(values)}, comm, options);
    auto const saving = longest(now() - begin);
    auto const one = run_steps(values, 8) / 8;
    auto steps = static_cast<int>(3 * saving / one) + 1; // until well after the end of the save
    MPI_Bcast(&steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
    meet();
    begin = now();
    run_steps(values, steps);
    auto const alone = longest(now() - begin);
    meet();
    begin = now();
    auto handle = save_async(path, {slab(values)}, comm, options);
    auto const call = longest(now() - begin);
    begin = now();
    run_steps(values, steps);
    auto const computing = now() - begin;
    begin = now();
    handle.wait();
    auto const lost = call + longest(computing) - alone + longest(now() - begin);
    if (rank_of() == 0) {
        std::printf("{\"seconds\": %.6f, \"save_seconds\": %.6f, \"call_seconds\": %.6f, \"lost_ratio\": %.4f, "
                    "\"call_ratio\": %.4f, \"raw_bytes\": %llu}\n",
                    lost, saving, call, lost / saving, call / saving,
                    static_cast<unsigned long long>(bytes * static_cast<std::uint64_t>(ranks())));
    }
}

} // namespace

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    {
        MpiCommunicator comm(MPI_COMM_WORLD);
        std::string const what = argc > 3 ? argv[1] : "";
        auto const bytes = what.empty() ? 0 : std::strtoull(argv[3], nullptr, 10);
        if (what == "save") {
            tell_save(argv[2], bytes, comm);
        } else if (what == "restore" || what == "verify") {
            tell_restore(argv[2], bytes, what == "verify", comm);
        } else if (what == "async") {
            tell_async(argv[2], bytes, comm);
        } else {
            fail("ours save|restore|verify|async PATH BYTES");
        }
    }
    MPI_Finalize();
}
