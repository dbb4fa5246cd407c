// Usage: ours save|restore|verify|async PATH BYTES [BYTES_OF_SAVER]. Measures thalweg.checkpoint; rank 0 prints the
// result as JSON. BYTES is the size per rank; BYTES_OF_SAVER that of each rank that saved, if it was another.
#include "ranks.h"

#include <functional>
#include <span>

#include "thalweg/checkpoint/restore.h"
#include "thalweg/checkpoint/save.h"
#include "thalweg/ranks/mpi_communicator.h"

using namespace thalweg::checkpoint;
using thalweg::ranks::MpiCommunicator;

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
    auto const before = written_so_far();
    meet();
    auto const begin = now();
    auto const report = save(path, {slab(values)}, comm, options);
    auto const seconds = longest(now() - begin);
    auto const written = told_since(before);
    if (rank_of() == 0) {
        std::printf("{\"seconds\": %.6f, \"raw_bytes\": %llu, \"engine\": \"%s\", %s}\n", seconds,
                    static_cast<unsigned long long>(report.bytes), report.engine.c_str(), written.c_str());
    }
}

// Returns the values from element `first` on, of slabs of `saved` elements that ranks have saved.
void check_values(std::vector<double> const& values, std::uint64_t first, std::uint64_t saved) {
    for (auto at = first; at < first + values.size();) {
        auto const rank = at / saved;
        auto const end = std::min(first + values.size(), (rank + 1) * saved);
        auto const expected = values_of(saved * sizeof(double), rank + 1);
        if (std::memcmp(&values[at - first], &expected[at - rank * saved], (end - at) * sizeof(double)) != 0) {
            fail("what was read is not what was saved");
        }
        at = end;
    }
}

// `saved` is the number of elements of each rank that saved.
void tell_restore(std::string const& path, std::uint64_t bytes, std::uint64_t saved, bool verify, Communicator& comm) {
    auto const count = bytes / sizeof(double); // for each rank, whatever its saver had
    std::vector<double> values(count);
    meet();
    auto const begin = now();
    auto const state = restore(path, comm, {.verify = verify});
    auto const opened = now();
    state.read("psi", {{count * static_cast<std::uint64_t>(rank_of())}, {count}},
               std::as_writable_bytes(std::span(values)));
    auto const end = now();
    auto const seconds = longest(end - begin), open_s = longest(opened - begin), read_s = longest(end - opened);
    check_values(values, count * static_cast<std::uint64_t>(rank_of()), saved);
    if (rank_of() == 0) {
        std::printf("{\"seconds\": %.6f, \"open_s\": %.6f, \"read_s\": %.6f, \"raw_bytes\": %llu}\n", seconds, open_s,
                    read_s,
                    static_cast<unsigned long long>(count * sizeof(double) * static_cast<std::uint64_t>(ranks())));
    }
}

// A step of a simulation: it goes through memory once.
void step(std::vector<double>& values) {
    for (auto& value : values) value = value * 0.999999 + 1.0;
}

double run_steps(std::vector<double>& values, int steps) {
    auto const begin = now();
    for (int i = 0; i < steps; ++i) step(values);
    return now() - begin;
}

struct Loss {
    double call = 0; // of save_async itself
    double all = 0;  // how much longer as many steps take than without a save, including the calls
};

Loss loss_of(std::vector<double>& values, std::function<SavingInBackground()> const& begin_save, int steps) {
    meet();
    auto begin = now();
    run_steps(values, steps);
    auto const alone = longest(now() - begin);
    meet();
    begin = now();
    auto handle = begin_save();
    auto const call = now() - begin;
    run_steps(values, steps);
    handle.wait();
    auto const both = longest(now() - begin);
    return {longest(call), both - alone};
}

// Measures in a simulation that computes for longer than a save takes.
void tell_async(std::string const& path, std::uint64_t bytes, Communicator& comm) {
    auto values = values_of(bytes, static_cast<std::uint64_t>(rank_of()) + 1);
    SaveOptions options;
    options.keep = 1;
    save_async(path, {slab(values)}, comm, options).wait(); // its memory exists from then on
    meet();
    auto const begin = now();
    save(path, {slab(values)}, comm, options);
    auto const saving = longest(now() - begin);
    meet();
    auto const one = run_steps(values, 8) / 8;
    auto steps = static_cast<int>(2.5 * saving / one) + 1;
    MPI_Bcast(&steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
    std::vector<Loss> losses;
    for (int i = 0; i < 3; ++i) {
        losses.push_back(loss_of(
            values, [&] { return save_async(path, {slab(values)}, comm, options); }, steps));
    }
    std::ranges::sort(losses, {}, &Loss::all);
    auto const& lost = losses[1];
    if (rank_of() == 0) {
        std::printf("{\"seconds\": %.6f, \"save_seconds\": %.6f, \"call_seconds\": %.6f, \"lost_ratio\": %.4f, "
                    "\"call_ratio\": %.4f, \"raw_bytes\": %llu}\n",
                    lost.all, saving, lost.call, lost.all / saving, lost.call / saving,
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
            tell_restore(argv[2], bytes,
                         argc > 4 ? std::strtoull(argv[4], nullptr, 10) / sizeof(double) : bytes / sizeof(double),
                         what == "verify", comm);
        } else if (what == "async") {
            tell_async(argv[2], bytes, comm);
        } else {
            fail("ours save|restore|verify|async PATH BYTES [BYTES_OF_SAVER]");
        }
    }
    MPI_Finalize();
}
