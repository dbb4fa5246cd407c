// saver PATH BYTES FOLDER: ranks of MPI save BYTES each to PATH, over and over, until they are killed. Each rank notes
// in FOLDER/RANK what it does: its pid, "before", "in" or "after" a save, and the last step that it has saved.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "thalweg/base/error.h"
#include "thalweg/checkpoint/save.h"
#include "thalweg/ranks/mpi_communicator.h"

using namespace thalweg;

namespace {

// One line of a fixed size, which is replaced at once; it stays when the process is killed.
class Note {
  public:
    explicit Note(std::string const& path) : file_(::open(path.c_str(), O_WRONLY | O_CREAT, 0644)) {}

    void write(char const* phase, std::int64_t saved) const {
        std::array<char, 64> line{};
        int const length = std::snprintf(line.data(), line.size(), "%8d %6s %12lld\n", static_cast<int>(::getpid()),
                                         phase, static_cast<long long>(saved));
        if (::pwrite(file_, line.data(), static_cast<std::size_t>(length), 0) != length) std::abort();
    }

  private:
    int file_;
};

void compute() { std::this_thread::sleep_for(std::chrono::milliseconds(3)); }

void save_for_ever(std::string const& path, std::uint64_t count, Note const& note, ranks::Communicator& comm) {
    std::vector<double> values(count);
    auto const rank = static_cast<std::uint64_t>(comm.rank()), ranks = static_cast<std::uint64_t>(comm.size());
    for (std::int64_t step = 1;; ++step) {
        note.write("before", step - 1);
        compute();
        std::ranges::fill(values, static_cast<double>(step));
        note.write("in", step - 1);
        checkpoint::Array psi{"psi", model::Scalar::float64, {count * ranks}, {}};
        psi.blocks.push_back({{{count * rank}, {count}}, values.data()});
        checkpoint::save(path, {psi}, comm);
        note.write("after", step);
        compute();
    }
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    MPI_Init(&argc, &argv);
    ranks::MpiCommunicator comm(MPI_COMM_WORLD);
    Note const note(std::string(argv[3]) + "/" + std::to_string(comm.rank()));
    try {
        save_for_ever(argv[1], std::strtoull(argv[2], nullptr, 10) / sizeof(double), note, comm);
    } catch (base::Error const& error) {
        std::fprintf(stderr, "rank %d heard: %s\n", comm.rank(), error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}
