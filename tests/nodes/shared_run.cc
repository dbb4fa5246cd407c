// shared_run PATH ROWS [FAILING_RANK]: ranks of MPI write one file with dataset::SharedRun. Each appends ROWS rows of
// its number and theirs; FAILING_RANK gives another schema. Prints a line a rank.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <span>
#include <vector>

#include "thalweg/base/error.h"
#include "thalweg/dataset/shared_run.h"
#include "thalweg/ranks/mpi_communicator.h"

using namespace thalweg;

namespace {

model::Field scalar(char const* name, model::Scalar type) {
    model::Field field;
    field.name = name;
    field.scalar = type;
    return field;
}

void write(std::string const& path, std::uint64_t rows, bool fails, ranks::Communicator& comm) {
    std::vector const fields{scalar("rank", model::Scalar::uint64), scalar("id", model::Scalar::uint64)};
    model::Schema schema{{{"events", fields, ""}}};
    if (fails) schema.tables[0].fields.pop_back();
    auto const run = dataset::SharedRun::create(comm, path, schema);
    std::vector<std::uint64_t> const rank(rows, static_cast<std::uint64_t>(comm.rank()));
    std::vector<std::uint64_t> id(rows);
    std::iota(id.begin(), id.end(), 0);
    {
        auto events = run->producer("events");
        std::span<std::byte const> const columns[] = {std::as_bytes(std::span(rank)), std::as_bytes(std::span(id))};
        events.append(rows, columns);
    }
    auto const result = run->close(60'000'000'000);
    std::printf("rank %d closed%s\n", comm.rank(), result ? " a node" : "");
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    MPI_Init(&argc, &argv);
    {
        ranks::MpiCommunicator comm(MPI_COMM_WORLD);
        try {
            write(argv[1], std::strtoull(argv[2], nullptr, 10), argc > 3 && std::atoi(argv[3]) == comm.rank(), comm);
        } catch (base::Error const& error) {
            std::printf("rank %d heard: %s\n", comm.rank(), error.what());
        }
    }
    MPI_Finalize();
}
