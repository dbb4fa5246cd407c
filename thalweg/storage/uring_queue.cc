#include "thalweg/storage/uring_queue.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <liburing.h>
#include <sched.h>
#include <string_view>
#include <vector>

#include "thalweg/base/assert.h"
#include "thalweg/base/units.h"
#include "thalweg/storage/failure.h"
#include "thalweg/storage/queue.h"

namespace thalweg::storage {
namespace {

// The kernel writes at most 2 GiB in one go; what is left is submitted again like the rest of any short write.
constexpr std::size_t kMaxWriteBytes = base::kGiB;

class Ring {
  public:
    explicit Ring(std::size_t entries) : error_(-::io_uring_queue_init(static_cast<unsigned>(entries), &ring_, 0)) {}
    Ring(Ring const&) = delete;
    Ring& operator=(Ring const&) = delete;
    ~Ring() {
        if (error_ == 0) ::io_uring_queue_exit(&ring_);
    }

    int error() const { return error_; }
    io_uring* get() { return &ring_; }

  private:
    io_uring ring_{};
    int error_;
};

class UringQueue final : public WriteQueue {
  public:
    UringQueue(int fd, std::string path, std::size_t depth) : ring_(depth), fd_(fd), path_(std::move(path)) {
        writes_.resize(depth);
        for (std::size_t slot = 0; slot < depth; ++slot) free_.push_back(slot);
    }

    // The kernel reads the bytes until a write has ended: they must not be freed before.
    ~UringQueue() override {
        try {
            while (pending_ > 0) collect(true);
        } catch (...) { // the ring is broken, and there is nothing left to wait for
        }
    }

    int error() const { return ring_.error(); }

    void submit(std::uint64_t offset, std::span<std::byte const> bytes, std::uint64_t token) override {
        check_aligned(path_, offset, bytes);
        while (free_.empty()) collect(true);
        auto const slot = free_.back();
        writes_[slot] = {offset, bytes, token};
        free_.pop_back();
        ++pending_;
        THALWEG_ASSERT(pending_ + free_.size() == writes_.size(), "a slot is free, or a write of it is pending");
        start(slot);
    }

    std::size_t reap(std::span<Completion> out, bool wait) override {
        if (pending_ > 0) collect(false);
        while (wait && done_.empty() && pending_ > 0) collect(true);
        return hand_out(done_, out);
    }

    std::size_t in_flight() const override { return pending_ + done_.size(); }

  private:
    struct Write {
        std::uint64_t offset = 0;
        std::span<std::byte const> bytes; // still to be written
        std::uint64_t token = 0;
    };

    void start(std::size_t slot) {
        if (broken_ == 0) broken_ = give_to_kernel(slot);
        if (broken_ != 0) finish(slot, broken_);
    }

    // An errno that leaves the ring of no use, or 0.
    int give_to_kernel(std::size_t slot) {
        auto const& write = writes_[slot];
        auto const size_bytes = static_cast<unsigned>(std::min(write.bytes.size(), kMaxWriteBytes));
        auto* const entry = ::io_uring_get_sqe(ring_.get()); // never null: the ring has an entry for every slot
        ::io_uring_prep_write(entry, fd_, write.bytes.data(), size_bytes, write.offset);
        ::io_uring_sqe_set_data64(entry, slot);
        while (::io_uring_sq_ready(ring_.get()) > 0) {
            int const result = ::io_uring_submit(ring_.get());
            bool const short_of_memory = result == -EAGAIN || result == -EBUSY; // for the moment
            if (result < 0 && result != -EINTR && !short_of_memory) return -result;
            if (short_of_memory) ::sched_yield();
        }
        return 0;
    }

    // Takes what the kernel has reported; with `wait`, at least one report.
    void collect(bool wait) {
        io_uring_cqe* report = nullptr;
        int result = 0;
        do {
            result = wait ? ::io_uring_wait_cqe(ring_.get(), &report) : ::io_uring_peek_cqe(ring_.get(), &report);
        } while (result == -EINTR);
        if (result == -EAGAIN) return;
        if (result < 0) fail_whole("wait for writes to", path_, -result);
        for (; report != nullptr && result == 0; result = ::io_uring_peek_cqe(ring_.get(), &report)) {
            auto const slot = static_cast<std::size_t>(::io_uring_cqe_get_data64(report));
            int const outcome = report->res;
            ::io_uring_cqe_seen(ring_.get(), report);
            settle(slot, outcome);
        }
    }

    // `outcome`: bytes written, or a negative errno.
    void settle(std::size_t slot, int outcome) {
        auto& write = writes_[slot];
        THALWEG_ASSERT(pending_ > 0 && (outcome <= 0 || static_cast<std::size_t>(outcome) <= write.bytes.size()),
                       "the kernel reports what was given to it");
        if (outcome > 0) {
            write.bytes = write.bytes.subspan(static_cast<std::size_t>(outcome));
            write.offset += static_cast<std::uint64_t>(outcome);
        }
        bool const again = outcome == -EINTR || outcome == -EAGAIN || (outcome > 0 && !write.bytes.empty());
        if (again) return start(slot);
        finish(slot, outcome > 0 ? 0 : outcome < 0 ? -outcome : EIO);
    }

    void finish(std::size_t slot, int error) {
        done_.push_back({writes_[slot].token, error});
        free_.push_back(slot);
        --pending_;
    }

    Ring ring_;
    int fd_;
    std::string path_;
    std::vector<Write> writes_;     // by slot; the slot comes back with the kernel's report
    std::vector<std::size_t> free_; // slots
    std::deque<Completion> done_;
    std::size_t pending_ = 0; // with the kernel
    int broken_ = 0;          // errno of a ring that takes no more
};

// A filter of system calls may let a ring be made and still forbid its use, so one empty request goes through it.
int try_ring() {
    Ring ring(1);
    if (ring.error() != 0) return ring.error();
    ::io_uring_prep_nop(::io_uring_get_sqe(ring.get()));
    int result = 0;
    do {
        result = ::io_uring_submit_and_wait(ring.get(), 1);
    } while (result == -EINTR);
    return result < 0 ? -result : 0;
}

} // namespace

std::string why_no_uring() {
    auto const* const setting = std::getenv("THALWEG_IO_URING");
    if (setting != nullptr && std::string_view(setting) == "0") return "forbidden by THALWEG_IO_URING=0";
    int const error = try_ring();
    return error == 0 ? "" : std::strerror(error);
}

std::unique_ptr<WriteQueue> make_uring_queue(int fd, std::string path, std::size_t depth) {
    auto queue = std::make_unique<UringQueue>(fd, std::move(path), std::max<std::size_t>(depth, 1));
    if (queue->error() != 0) return nullptr;
    return queue;
}

} // namespace thalweg::storage
