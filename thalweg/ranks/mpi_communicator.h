// A Communicator over MPI. Only headers: the library links no MPI, and programs that include this do.
#pragma once

// Only functions of C are used. Without these macros mpi.h declares classes for C++, too, which MPI had until
// version 3. With Open MPI 4 they need a library of their own, which programs that link MPI for C do not have.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mpi.h>
#include <string>
#include <thread>
#include <vector>

#include "thalweg/base/error.h"
#include "thalweg/ranks/communicator.h"

namespace thalweg::ranks {

// Messages travel on a duplicate of the communicator that is given, so that they meet no others. Made, and destroyed
// before MPI_Finalize, by all ranks together.
class MpiCommunicator final : public Communicator {
  public:
    explicit MpiCommunicator(MPI_Comm given) {
        // One that does not block, so that ranks that come first do not spin: `save_async` makes one each time.
        wait_for([&](MPI_Request* request) { return MPI_Comm_idup(given, &own_, request); });
        check(MPI_Comm_rank(own_, &rank_));
        check(MPI_Comm_size(own_, &size_));
    }
    MpiCommunicator(MpiCommunicator const&) = delete;
    MpiCommunicator& operator=(MpiCommunicator const&) = delete;
    ~MpiCommunicator() override { MPI_Comm_free(&own_); }

    int rank() const override { return rank_; }
    int size() const override { return size_; }

    std::vector<Bytes> gather(Bytes const& own) override {
        auto const size_bytes = static_cast<std::uint64_t>(own.size());
        std::vector<std::uint64_t> sizes(rank_ == 0 ? static_cast<std::size_t>(size_) : 0);
        wait_for([&](MPI_Request* request) {
            return MPI_Igather(&size_bytes, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, 0, own_, request);
        });
        std::vector<Bytes> all;
        if (rank_ != 0) {
            for_pieces(size_bytes, [&](std::uint64_t at, int count, MPI_Request* request) {
                return MPI_Isend(own.data() + at, count, MPI_BYTE, 0, kTag, own_, request);
            });
            return all;
        }
        all.push_back(own);
        for (int from = 1; from < size_; ++from) {
            auto& bytes = all.emplace_back(sizes[static_cast<std::size_t>(from)]);
            for_pieces(bytes.size(), [&](std::uint64_t at, int count, MPI_Request* request) {
                return MPI_Irecv(bytes.data() + at, count, MPI_BYTE, from, kTag, own_, request);
            });
        }
        return all;
    }

    Bytes broadcast(Bytes const& of_rank_0) override {
        auto size_bytes = static_cast<std::uint64_t>(of_rank_0.size());
        wait_for([&](MPI_Request* request) { return MPI_Ibcast(&size_bytes, 1, MPI_UINT64_T, 0, own_, request); });
        auto bytes = rank_ == 0 ? of_rank_0 : Bytes(size_bytes);
        for_pieces(size_bytes, [&](std::uint64_t at, int count, MPI_Request* request) {
            return MPI_Ibcast(bytes.data() + at, count, MPI_BYTE, 0, own_, request);
        });
        return bytes;
    }

    std::uint64_t exclusive_sum(std::uint64_t own) override {
        std::uint64_t sum = 0;
        wait_for(
            [&](MPI_Request* request) { return MPI_Iexscan(&own, &sum, 1, MPI_UINT64_T, MPI_SUM, own_, request); });
        return rank_ == 0 ? 0 : sum; // which MPI leaves undefined
    }

    int first_rank_here() override {
        MPI_Comm here = MPI_COMM_NULL;
        check(MPI_Comm_split_type(own_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here));
        int first = rank_;
        check(MPI_Bcast(&first, 1, MPI_INT, 0, here));
        check(MPI_Comm_free(&here));
        return first;
    }

    std::unique_ptr<Communicator> duplicate() override {
        int provided = MPI_THREAD_SINGLE;
        check(MPI_Query_thread(&provided));
        if (provided < MPI_THREAD_MULTIPLE) return nullptr;
        return std::make_unique<MpiCommunicator>(own_);
    }

  private:
    static constexpr int kTag = 0;
    static constexpr std::uint64_t kPieceBytes = 1 << 30; // a count is an int

    static void check(int result) {
        if (result == MPI_SUCCESS) return;
        std::string text(MPI_MAX_ERROR_STRING, '\0');
        int length = 0;
        MPI_Error_string(result, text.data(), &length);
        base::fail_system({"the ranks cannot speak to each other", text.substr(0, static_cast<std::size_t>(length))});
    }

    // `begin(request)` begins an operation. A rank that waits in a call of MPI's own takes its processor from another
    // that writes, or from the simulation: here it sleeps.
    template <class Begin> static void wait_for(Begin const& begin) {
        MPI_Request request = MPI_REQUEST_NULL;
        check(begin(&request));
        auto pause = std::chrono::microseconds(20);
        for (int done = 0;;) {
            check(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
            if (done != 0) return;
            std::this_thread::sleep_for(pause);
            pause = std::min(2 * pause, std::chrono::microseconds(1000));
        }
    }

    template <class Begin> static void for_pieces(std::uint64_t size_bytes, Begin const& begin) {
        for (std::uint64_t at = 0; at < size_bytes; at += kPieceBytes) {
            auto const count = static_cast<int>(size_bytes - at < kPieceBytes ? size_bytes - at : kPieceBytes);
            wait_for([&](MPI_Request* request) { return begin(at, count, request); });
        }
    }

    MPI_Comm own_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 1;
};

} // namespace thalweg::ranks
