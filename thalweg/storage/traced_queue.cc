#include "thalweg/storage/traced_queue.h"

#include <span>
#include <utility>
#include <vector>

#include "thalweg/base/assert.h"
#include "thalweg/trace/activity.h"

namespace thalweg::storage {
namespace {

class TracedQueue final : public WriteQueue {
  public:
    TracedQueue(std::unique_ptr<WriteQueue> queue, std::string path, std::size_t depth, QueueEngine engine)
        : queue_(std::move(queue)), path_(std::move(path)), depth_(depth), engine_(engine) {}

    void submit(std::uint64_t offset, std::span<std::byte const> bytes, std::uint64_t token) override {
        if (free_.empty()) {
            free_.push_back(writes_.size());
            writes_.emplace_back();
        }
        auto const place = free_.back();
        writes_[place] = {token, trace::trace_clock(), offset, bytes.size()};
        {
            trace::Traced wait(trace::Activity::wait_for_writes, path_.c_str(), bytes.size());
            if (queue_->in_flight() < depth_) wait.cancel(); // there is room
            queue_->submit(offset, bytes, place);
            wait.set_result(0);
        }
        free_.pop_back(); // here: what throws has taken no place
        check_places();
    }

    std::size_t reap(std::span<Completion> out, bool wait) override {
        std::size_t count = queue_->reap(out, false);
        if (count == 0 && wait && queue_->in_flight() > 0) {
            trace::Traced waited(trace::Activity::wait_for_writes, path_.c_str(), 0);
            count = queue_->reap(out, true);
            waited.set_result(count);
        }
        for (auto& each : out.first(count)) {
            auto const& write = writes_[each.token];
            free_.push_back(each.token);
            trace::trace_write(path_.c_str(), write.begin, write.offset, write.size_bytes, each.error,
                               static_cast<unsigned>(engine_));
            each.token = write.token;
        }
        check_places();
        return count;
    }

    std::size_t in_flight() const override { return queue_->in_flight(); }

  private:
    struct Write {
        std::uint64_t token = 0;
        std::uint64_t begin = 0;
        std::uint64_t offset = 0;
        std::uint64_t size_bytes = 0;
    };

    void check_places() const {
        THALWEG_ASSERT(free_.size() + queue_->in_flight() == writes_.size(),
                       "a write has its place until it is reaped");
    }

    std::unique_ptr<WriteQueue> queue_;
    std::string path_;
    std::size_t depth_;
    QueueEngine engine_;
    std::vector<Write> writes_; // by place, which is the token that the queue has of it
    std::vector<std::size_t> free_;
};

} // namespace

std::unique_ptr<WriteQueue> traced(std::unique_ptr<WriteQueue> queue, std::string const& path, std::size_t depth,
                                   QueueEngine engine) {
    if (!trace::is_traced() || !queue) return queue;
    return std::make_unique<TracedQueue>(std::move(queue), path, depth, engine);
}

} // namespace thalweg::storage
