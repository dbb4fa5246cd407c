#include "tests/simulator/virtual_file.h"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <fmt/format.h>
#include <map>

#include "thalweg/base/checksum.h"
#include "thalweg/storage/failure.h"
#include "thalweg/storage/queue.h"

namespace thalweg::simulator {

// Writes land in any order, each some time after it was submitted.
class VirtualQueue final : public storage::WriteQueue {
  public:
    VirtualQueue(VirtualFile& file, std::size_t depth) : file_(file), depth_(std::max<std::size_t>(1, depth)) {}
    ~VirtualQueue() override {
        storage::Completion ignored;
        while (in_flight() > 0) reap({&ignored, 1}, true);
    }

    void submit(std::uint64_t offset, std::span<std::byte const> bytes, std::uint64_t token) override {
        storage::check_aligned(file_.path(), offset, bytes);
        while (writes_.size() >= depth_) wait();
        auto& world = file_.world_;
        world.yield();
        world.check_allowed(file_.path());
        auto& disk = world.disk;
        Flight flight{disk.moment++, world.current_pid(), file_.inode_, offset};
        flight.machine = world.current_machine();
        flight.bytes = std::make_shared<std::vector<std::byte> const>(bytes.begin(), bytes.end());
        flight.lands_ns = world.time_ns() + world.random.any_size(world.weather.longest_write_ns);
        if (world.writes++ == world.weather.fail_write) flight.error = EIO;
        if (!file_.has_room(offset + bytes.size())) flight.error = ENOSPC;
        writes_.push_back({token, flight.write, flight.lands_ns, flight.error, bytes, base::xxh3(bytes)});
        disk.flights.push_back(std::move(flight));
    }

    std::size_t reap(std::span<storage::Completion> out, bool must_wait) override {
        auto& world = file_.world_;
        world.yield();
        take_landed();
        if (must_wait && landed_.empty() && !writes_.empty()) wait();
        return storage::hand_out(landed_, out);
    }

    std::size_t in_flight() const override { return writes_.size() + landed_.size(); }

  private:
    struct Write {
        std::uint64_t token;
        std::uint64_t write;
        std::uint64_t lands_ns;
        int error;
        std::span<std::byte const> bytes;
        std::uint64_t checksum;
    };

    // Waits for the first one that lands.
    void wait() {
        auto& world = file_.world_;
        while (landed_.empty() || writes_.size() >= depth_) {
            auto const first = std::min_element(writes_.begin(), writes_.end(), [](auto const& one, auto const& other) {
                return one.lands_ns < other.lands_ns;
            });
            auto const now = world.time_ns();
            if (first->lands_ns > now) world.sleep_ns(first->lands_ns - now);
            take_landed();
        }
    }

    void take_landed() {
        auto& world = file_.world_;
        auto const now = world.time_ns();
        world.disk.land(now);
        std::erase_if(writes_, [&](Write const& write) {
            if (write.lands_ns > now) return false;
            if (base::xxh3(write.bytes) != write.checksum)
                world.blame(fmt::format("the bytes for a write to {} changed while it was in flight", file_.path()));
            world.disk.end_write(file_.inode_, write.write);
            landed_.push_back({write.token, write.error});
            return true;
        });
    }

    VirtualFile& file_;
    std::size_t depth_;
    std::vector<Write> writes_;
    std::deque<storage::Completion> landed_;
};

void VirtualFile::read(std::uint64_t offset, std::span<std::byte> bytes) const {
    world_.yield();
    auto const& image = world_.disk.files.at(inode_).cache;
    if (offset > image.size() || bytes.size() > image.size() - offset)
        storage::fail_past_end(path_, offset, bytes.size(), image.size());
    image.read(offset, bytes);
}

void VirtualFile::write(std::uint64_t offset, std::span<std::byte const> bytes) {
    check_writable("write");
    world_.yield();
    if (world_.writes++ == world_.weather.fail_write) storage::fail_at("write", path_, offset, bytes.size(), EIO);
    if (!has_room(offset + bytes.size())) storage::fail_at("write", path_, offset, bytes.size(), ENOSPC);
    if (bytes.empty()) return;
    if (bytes.size() > 1 && world_.random.chance(0.1)) { // another process sees it half done, or no more comes
        auto const half = world_.random.between(1, bytes.size() - 1);
        world_.disk.write(inode_, offset, bytes.first(half));
        world_.yield();
        offset += half;
        bytes = bytes.subspan(half);
    }
    world_.disk.write(inode_, offset, bytes);
    world_.note(offset ^ bytes.size() << 40);
    world_.yield();
}

std::uint64_t VirtualFile::size() const { return world_.disk.files.at(inode_).cache.size(); }

void VirtualFile::resize(std::uint64_t size_bytes) {
    check_writable("resize");
    world_.yield();
    if (!has_room(size_bytes)) storage::fail_whole("resize", path_, ENOSPC);
    world_.disk.resize(inode_, size_bytes);
    world_.yield();
}

// Punches a hole: it counts as written zeros, so a machine may lose them, too.
void VirtualFile::give_back(std::uint64_t offset, std::uint64_t size_bytes) {
    check_writable("give back");
    auto const& image = world_.disk.files.at(inode_).cache;
    if (offset >= image.size()) return;
    std::vector<std::byte> const zeros(std::min(size_bytes, image.size() - offset));
    world_.yield();
    world_.disk.write(inode_, offset, zeros);
    world_.yield();
}

void VirtualFile::reserve(std::uint64_t offset, std::uint64_t size_bytes) {
    check_writable("reserve");
    world_.yield();
    // As in ext4, this waits until all direct writes to this file have ended, of any process.
    auto const is_ours = [&](Flight const& flight) { return flight.inode == inode_; };
    while (std::any_of(world_.disk.flights.begin(), world_.disk.flights.end(), is_ours)) {
        world_.sleep_ns(world_.weather.longest_write_ns / 8 + 1);
        world_.disk.land(world_.time_ns());
    }
    bool const refused = world_.reserves++ == world_.weather.refuse_reserve;
    if (refused || !has_room(offset + size_bytes)) storage::fail_at("reserve", path_, offset, size_bytes, ENOSPC);
    if (size_bytes > 0 && offset + size_bytes > size()) world_.disk.resize(inode_, offset + size_bytes);
    world_.yield();
}

// Linux reports a failure to every process that has the file open then. A process that was told keeps failing, as
// PosixStorage does.
void VirtualFile::sync() {
    world_.yield();
    auto const begin = world_.disk.moment++;
    world_.sleep_ns(world_.random.any_size(world_.weather.longest_sync_ns));
    bool const fails = world_.syncs++ == world_.weather.fail_sync;
    if (fails) {
        world_.disk.end_sync(inode_, begin, true);
        ++world_.disk.files.at(inode_).failed_syncs[world_.current_machine()];
    }
    if (failed_syncs() != failed_syncs_before_) storage::fail_whole("sync", path_, EIO);
    if (!world_.lies(path_)) world_.disk.end_sync(inode_, begin, false);
    world_.yield();
}

std::unique_ptr<storage::WriteQueue> VirtualFile::write_queue(std::size_t depth) {
    return std::make_unique<VirtualQueue>(*this, depth);
}

std::uint64_t VirtualFile::failed_syncs() const {
    auto const& failed = world_.disk.files.at(inode_).failed_syncs;
    auto const found = failed.find(world_.current_machine());
    return found == failed.end() ? 0 : found->second;
}

bool VirtualFile::has_room(std::uint64_t end) const {
    auto const size_bytes = size();
    return end <= size_bytes || world_.disk.used_bytes() + end - size_bytes <= world_.disk_bytes();
}

void VirtualFile::check_writable(char const* verb) const {
    world_.check_allowed(path_);
    if (read_only_) storage::fail_whole(verb, path_, EBADF);
}

} // namespace thalweg::simulator
