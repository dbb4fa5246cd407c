// Ranks that are threads of a test, each with a Communicator of its own.
#pragma once

#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "thalweg/base/thread.h"
#include "thalweg/ranks/communicator.h"

namespace thalweg::ranks {

// Ranks leave here what they say; a rank goes on when all have said something.
class Meeting {
  public:
    explicit Meeting(int ranks) : said_(static_cast<std::size_t>(ranks)) {}

    std::vector<Bytes> exchange(int rank, Bytes const& own) {
        base::Lock lock(mutex_);
        said_[static_cast<std::size_t>(rank)] = own;
        auto const round = round_;
        if (++here_ == said_.size()) {
            heard_ = said_;
            here_ = 0;
            ++round_;
            condition_.notify_all();
        } else {
            condition_.wait(lock, [&] { return round_ != round; });
        }
        return heard_; // no rank comes round again before all have left: the next round needs all of them
    }

  private:
    base::Mutex mutex_;
    base::Condition condition_;
    std::vector<Bytes> said_, heard_;
    std::size_t here_ = 0;
    std::uint64_t round_ = 0;
};

class ThreadCommunicator final : public Communicator {
  public:
    ThreadCommunicator(std::shared_ptr<Meeting> own, std::shared_ptr<Meeting> other, int rank, int size)
        : own_(std::move(own)), other_(std::move(other)), rank_(rank), size_(size) {}

    int ranks_per_machine = 1 << 20; // as the test pretends
    int rank() const override { return rank_; }
    int size() const override { return size_; }
    std::vector<Bytes> gather(Bytes const& own) override {
        auto all = own_->exchange(rank_, own);
        return rank_ == 0 ? all : std::vector<Bytes>();
    }
    Bytes broadcast(Bytes const& of_rank_0) override { return own_->exchange(rank_, of_rank_0)[0]; }
    std::uint64_t exclusive_sum(std::uint64_t own) override {
        Bytes bytes(sizeof own);
        std::memcpy(bytes.data(), &own, sizeof own);
        auto const all = own_->exchange(rank_, bytes);
        std::uint64_t sum = 0;
        for (int rank = 0; rank < rank_; ++rank) {
            std::uint64_t part = 0;
            std::memcpy(&part, all[static_cast<std::size_t>(rank)].data(), sizeof part);
            sum += part;
        }
        return sum;
    }
    int first_rank_here() override { return rank_ / ranks_per_machine * ranks_per_machine; }
    std::unique_ptr<Communicator> duplicate() override {
        if (!other_) return nullptr;
        return std::make_unique<ThreadCommunicator>(other_, nullptr, rank_, size_);
    }

  private:
    std::shared_ptr<Meeting> own_, other_;
    int rank_;
    int size_;
};

// Calls `work` in as many threads; returns what each threw, null if it threw nothing.
inline std::vector<std::exception_ptr> run_ranks(int ranks, std::function<void(Communicator&)> const& work,
                                                 bool has_duplicates = true) {
    auto const own = std::make_shared<Meeting>(ranks);
    auto const other = has_duplicates ? std::make_shared<Meeting>(ranks) : nullptr;
    std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(ranks));
    {
        std::vector<std::jthread> threads;
        for (int rank = 0; rank < ranks; ++rank) {
            threads.emplace_back([&, rank] {
                try {
                    ThreadCommunicator comm(own, other, rank, ranks);
                    work(comm);
                } catch (...) {
                    thrown[static_cast<std::size_t>(rank)] = std::current_exception();
                }
            });
        }
    }
    return thrown;
}

// As `run_ranks`, for work that must not throw.
inline void run_all_ranks(int ranks, std::function<void(Communicator&)> const& work, bool has_duplicates = true) {
    for (auto const& failure : run_ranks(ranks, work, has_duplicates)) {
        if (failure) std::rethrow_exception(failure);
    }
}

} // namespace thalweg::ranks
