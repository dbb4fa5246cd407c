#include "thalweg/storage/queue.h"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"

namespace thalweg::storage {
namespace {

class SynchronousQueue final : public WriteQueue {
  public:
    explicit SynchronousQueue(Storage& storage) : storage_(storage) {}

    void submit(std::uint64_t offset, std::span<std::byte const> bytes, std::uint64_t token) override {
        check_aligned(storage_.path(), offset, bytes);
        done_.push_back({token, write(offset, bytes)});
    }

    std::size_t reap(std::span<Completion> out, bool) override { return hand_out(done_, out); }

    std::size_t in_flight() const override { return done_.size(); }

  private:
    int write(std::uint64_t offset, std::span<std::byte const> bytes) {
        try {
            storage_.write(offset, bytes);
            return 0;
        } catch (base::SystemError const& error) {
            return error.code != 0 ? error.code : EIO;
        }
    }

    Storage& storage_;
    std::deque<Completion> done_;
};

} // namespace

void check_aligned(std::string const& path, std::uint64_t offset, std::span<std::byte const> bytes) {
    auto const address = reinterpret_cast<std::uintptr_t>(bytes.data());
    if (bytes.empty() || (offset | bytes.size() | address) % base::kBlockBytes != 0) {
        base::fail_usage({fmt::format("cannot queue {} bytes for offset {} of {}", bytes.size(), offset, path),
                          fmt::format("offset, size and memory address must be multiples of {}", base::kBlockBytes)});
    }
}

std::size_t hand_out(std::deque<Completion>& done, std::span<Completion> out) {
    auto const count = std::min(done.size(), out.size());
    std::copy_n(done.begin(), count, out.begin());
    done.erase(done.begin(), done.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
}

std::unique_ptr<WriteQueue> make_synchronous_queue(Storage& storage) {
    return std::make_unique<SynchronousQueue>(storage);
}

} // namespace thalweg::storage
