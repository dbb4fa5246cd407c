// A Communicator over MPI. Only headers: the library links no MPI, and whoever includes this does.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mpi.h>
#include <string>
#include <thread>
#include <vector>

#include "thalweg/base/error.h"
#include "thalweg/checkpoint/communicator.h"

namespace thalweg::checkpoint {

// Messages travel on a duplicate of the communicator that is given, so that they meet no others. Made, and destroyed
// before MPI_Finalize, by all ranks together.
class MpiCommunicator final : public Communicator {
  public:
    explicit MpiCommunicator(MPI_Comm given) : MpiCommunicator(given, false) {}
    MpiCommunicator(MpiCommunicator const&) = delete;
    MpiCommunicator& operator=(MpiCommunicator const&) = delete;
    ~MpiCommunicator() override { MPI_Comm_free(&own_); }

    int rank() const override { return rank_; }
    int size() const override { return size_; }

    std::vector<Bytes> gather(Bytes const& own) override {
        meet();
        auto const size_bytes = static_cast<std::uint64_t>(own.size());
        std::vector<std::uint64_t> sizes(rank_ == 0 ? static_cast<std::size_t>(size_) : 0);
        check(MPI_Gather(&size_bytes, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, 0, own_));
        std::vector<Bytes> all;
        if (rank_ != 0) {
            for_pieces(size_bytes, [&](std::uint64_t at, int count) {
                check(MPI_Send(own.data() + at, count, MPI_BYTE, 0, kTag, own_));
            });
            return all;
        }
        all.push_back(own);
        for (int from = 1; from < size_; ++from) {
            auto& bytes = all.emplace_back(sizes[static_cast<std::size_t>(from)]);
            for_pieces(bytes.size(), [&](std::uint64_t at, int count) {
                check(MPI_Recv(bytes.data() + at, count, MPI_BYTE, from, kTag, own_, MPI_STATUS_IGNORE));
            });
        }
        return all;
    }

    Bytes broadcast(Bytes const& of_rank_0) override {
        meet();
        auto size_bytes = static_cast<std::uint64_t>(of_rank_0.size());
        check(MPI_Bcast(&size_bytes, 1, MPI_UINT64_T, 0, own_));
        auto bytes = rank_ == 0 ? of_rank_0 : Bytes(size_bytes);
        for_pieces(size_bytes,
                   [&](std::uint64_t at, int count) { check(MPI_Bcast(bytes.data() + at, count, MPI_BYTE, 0, own_)); });
        return bytes;
    }

    std::uint64_t exclusive_sum(std::uint64_t own) override {
        meet();
        std::uint64_t sum = 0;
        check(MPI_Exscan(&own, &sum, 1, MPI_UINT64_T, MPI_SUM, own_));
        return rank_ == 0 ? 0 : sum; // which MPI leaves undefined
    }

    std::unique_ptr<Communicator> duplicate() override {
        int provided = MPI_THREAD_SINGLE;
        check(MPI_Query_thread(&provided));
        if (provided < MPI_THREAD_MULTIPLE) return nullptr;
        return std::unique_ptr<Communicator>(new MpiCommunicator(own_, true));
    }

  private:
    static constexpr int kTag = 0;
    static constexpr std::uint64_t kPieceBytes = 1 << 30; // a count is an int

    MpiCommunicator(MPI_Comm given, bool sleeps) : sleeps_(sleeps) {
        check(MPI_Comm_dup(given, &own_));
        check(MPI_Comm_rank(own_, &rank_));
        check(MPI_Comm_size(own_, &size_));
    }

    static void check(int result) {
        if (result == MPI_SUCCESS) return;
        std::string text(MPI_MAX_ERROR_STRING, '\0');
        int length = 0;
        MPI_Error_string(result, text.data(), &length);
        base::fail_system({"the ranks cannot speak to each other", text.substr(0, static_cast<std::size_t>(length))});
    }

    // A thread beside the simulation must not take its processor while it waits for others.
    void meet() {
        if (!sleeps_) return;
        MPI_Request request = MPI_REQUEST_NULL;
        check(MPI_Ibarrier(own_, &request));
        for (int done = 0; done == 0;) {
            check(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
            if (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

    template <class Use> static void for_pieces(std::uint64_t size_bytes, Use const& use) {
        for (std::uint64_t at = 0; at < size_bytes; at += kPieceBytes) {
            use(at, static_cast<int>(size_bytes - at < kPieceBytes ? size_bytes - at : kPieceBytes));
        }
    }

    MPI_Comm own_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 1;
    bool sleeps_;
};

} // namespace thalweg::checkpoint
