// What has a name on the simulated machine: segments of memory, files, locks.
#include <algorithm>
#include <cerrno>
#include <fcntl.h>

#include "tests/simulator/virtual_file.h"
#include "tests/simulator/world.h"
#include "thalweg/base/error.h"

namespace thalweg::simulator {
namespace {

constexpr std::uint64_t kDevice = 7;
constexpr std::uint64_t kDirectoryInode = 2;

std::string directory_of(std::string const& path) { return path.substr(0, path.rfind('/')); }

} // namespace

std::span<std::byte> World::create_memory(std::string const& name, std::size_t size_bytes) {
    yield();
    check_allowed(name);
    return names.create(name, size_bytes);
}

std::span<std::byte> World::attach_memory(std::string const& name) {
    yield();
    check_allowed(name);
    return names.attach(name);
}

void World::unlink_memory(std::string const& name) {
    yield();
    check_allowed(name);
    names.segments.erase(name);
}

void World::link_memory(std::string const& name, std::string const& other) {
    yield();
    check_allowed(name);
    names.link(name, other);
}

std::vector<std::string> World::list_memory(std::string const& prefix) {
    yield();
    return names.list(prefix);
}

int World::open_file(std::string const& path, int flags) {
    yield();
    auto const* inode = disk.find(path);
    if (inode == nullptr && (flags & O_CREAT) == 0) base::fail_system({"cannot open " + path}, ENOENT);
    if (inode != nullptr && (flags & O_EXCL) != 0) base::fail_system({"cannot open " + path}, EEXIST);
    if (inode == nullptr) check_allowed(path);
    auto const number = inode != nullptr ? *inode : disk.create(path);
    open_files_[next_fd_] = {number, current_pid(), false, false};
    return next_fd_++;
}

void World::close_file(int fd) { open_files_.erase(fd); }

bool World::try_lock_file(int fd, bool exclusive) {
    yield();
    auto& mine = open_files_.at(fd);
    for (auto const& [other_fd, other] : open_files_) {
        if (other_fd == fd || other.inode != mine.inode || !other.locked) continue;
        if (exclusive || other.exclusive) return false;
    }
    mine.locked = true;
    mine.exclusive = exclusive;
    return true;
}

base::FileIdentity World::identity_of(int fd) {
    yield();
    auto const inode = open_files_.at(fd).inode;
    return {kDevice, inode, disk.links(inode)};
}

std::optional<base::FileIdentity> World::identity_of(std::string const& path) {
    yield();
    if (is_directory(path)) return base::FileIdentity{kDevice, kDirectoryInode, 1};
    auto const* const inode = disk.find(path);
    if (inode == nullptr) return std::nullopt;
    return base::FileIdentity{kDevice, *inode, disk.links(*inode)};
}

bool World::is_directory(std::string const& path) { return path == kDirectory; }

bool World::remove_file(std::string const& path) {
    yield();
    if (disk.find(path) == nullptr) return false;
    check_allowed(path);
    disk.set_name(path, 0);
    return true;
}

std::vector<std::string> World::list_directory(std::string const& path) {
    yield();
    std::vector<std::string> found;
    for (auto const& [name, inode] : disk.names) {
        if (directory_of(name) == path) found.push_back(name.substr(path.size() + 1));
    }
    return found;
}

void World::sync_directory_of(std::string const& path) {
    yield();
    if (directory_of(path) != kDirectory) base::fail_system({"cannot sync the directory of " + path}, ENOENT);
    ++directory_syncs;
    auto const changes = disk.name_changes.size();
    sleep_ns(random.any_size(weather.longest_sync_ns));
    if (!path.ends_with(weather.lying_file) || weather.lying_file.empty()) disk.sync_names(changes);
}

std::unique_ptr<storage::Storage> World::open(std::string const& path, storage::OpenMode mode) {
    int const flags = mode == storage::OpenMode::create_new   ? O_CREAT | O_EXCL | O_RDWR
                      : mode == storage::OpenMode::read_write ? O_RDWR
                                                              : O_RDONLY;
    auto const fd = open_file(path, flags);
    auto const inode = open_files_.at(fd).inode;
    close_file(fd);
    return std::make_unique<VirtualFile>(*this, path, inode, mode == storage::OpenMode::read_only);
}

storage::Space World::space() {
    auto const used = disk.used_bytes();
    return {weather.disk_bytes - std::min(weather.disk_bytes, used), weather.disk_bytes};
}

} // namespace thalweg::simulator
