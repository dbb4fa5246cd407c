// Strips on the ranks of MPI: each rank talks to the one below and the one above, around the torus.
#include "strips.h"

#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include <mpi.h>

#include <thalweg/base/error.h>
#include <thalweg/ranks/mpi_communicator.h>

#include "wave.h"

namespace quantum_hall {

struct Strips::Messages {
    std::array<MPI_Request, 4> requests{};
    int pending = 0;
};

void Strips::start(int* argc, char*** argv) {
    // A thread finishes checkpoints and talks to those of other ranks. If MPI does not allow that, a checkpoint is
    // finished when the next one is due.
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
}
void Strips::finish() { MPI_Finalize(); }
void Strips::abort(int exit_code) { MPI_Abort(MPI_COMM_WORLD, exit_code); }

int Strips::rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

int Strips::ranks() {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return ranks;
}

Strips::Strips(System const& system) : all_rows_(system.rows), messages_(std::make_unique<Messages>()) {
    if (ranks() > all_rows_) {
        thalweg::base::fail_usage({"there are " + std::to_string(ranks()) + " ranks for " + std::to_string(all_rows_) +
                                       " rows of the lattice",
                                   "each rank has at least one row", "start at most as many ranks as rows"});
    }
    communicator_ = std::make_unique<thalweg::ranks::MpiCommunicator>(MPI_COMM_WORLD);
    first_ = first_row_of(rank());
    count_ = first_row_of(rank() + 1) - first_;
}
Strips::~Strips() = default;

std::int64_t Strips::first_row_of(int rank) const {
    return rank * (all_rows_ / ranks()) + std::min<std::int64_t>(rank, all_rows_ % ranks());
}

void Strips::begin_exchange(Wave& wave) {
    auto const last = wave.sublattices() - 1;
    if (ranks() == 1) {
        std::ranges::copy(wave.whole_row(last, count_ - 1), wave.whole_row(last, -1).begin());
        std::ranges::copy(wave.whole_row(0, 0), wave.whole_row(0, count_).begin());
        return;
    }
    auto const below = (rank() + ranks() - 1) % ranks(), above = (rank() + 1) % ranks();
    enum Tag { upwards, downwards };
    auto const size = static_cast<int>(wave.whole_row(0, 0).size());
    auto const row = [&](int sublattice, std::int64_t j) { return wave.whole_row(sublattice, j).data(); };
    auto* const request = messages_->requests.data();
    MPI_Irecv(row(last, -1), size, MPI_DOUBLE, below, upwards, MPI_COMM_WORLD, request);
    MPI_Irecv(row(0, count_), size, MPI_DOUBLE, above, downwards, MPI_COMM_WORLD, request + 1);
    MPI_Isend(row(last, count_ - 1), size, MPI_DOUBLE, above, upwards, MPI_COMM_WORLD, request + 2);
    MPI_Isend(row(0, 0), size, MPI_DOUBLE, below, downwards, MPI_COMM_WORLD, request + 3);
    messages_->pending = 4;
}

// A rank that waits inside MPI keeps its core, which another rank may need to make progress. This loop gives it up.
void Strips::end_exchange() {
    for (int done = 0;;) {
        MPI_Testall(messages_->pending, messages_->requests.data(), &done, MPI_STATUSES_IGNORE);
        if (done != 0) break;
        std::this_thread::yield();
    }
    messages_->pending = 0;
}

void Strips::sum(std::span<double> values) const {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

bool Strips::any(bool value) const {
    int flag = value ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &flag, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return flag != 0;
}

void Strips::gather(std::span<double const> mine, std::span<double> all, std::int64_t doubles_a_row) const {
    std::vector<int> counts, places;
    for (int rank = 0; rank < ranks(); ++rank) {
        counts.push_back(static_cast<int>((first_row_of(rank + 1) - first_row_of(rank)) * doubles_a_row));
        places.push_back(static_cast<int>(first_row_of(rank) * doubles_a_row));
    }
    MPI_Gatherv(mine.data(), static_cast<int>(mine.size()), MPI_DOUBLE, all.data(), counts.data(), places.data(),
                MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

} // namespace quantum_hall
