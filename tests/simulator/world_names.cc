// The named objects of the simulated machines: segments of memory, files, locks.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <fmt/format.h>

#include "tests/simulator/virtual_file.h"
#include "tests/simulator/world.h"
#include "thalweg/base/error.h"

namespace thalweg::simulator {
namespace {

constexpr std::uint64_t kDevice = 7;
constexpr std::uint64_t kDirectoryInode = 2;

// The prefix of segment names, except on the first machine.
std::string mark_of(std::uint32_t machine) { return machine == 0 ? "" : fmt::format("@{}:", machine); }

} // namespace

std::uint32_t machine_of_segment(std::string const& name) {
    std::uint32_t machine = 0;
    if (name.starts_with('@')) std::from_chars(name.data() + 1, name.data() + name.size(), machine);
    return machine;
}

// Memory without a name belongs to one process.
std::string World::on_machine(std::string const& name) const {
    return name.empty() ? name : mark_of(current_machine()) + name;
}

std::span<std::byte> World::create_memory(std::string const& name, std::size_t size_bytes) {
    yield();
    check_allowed(name);
    return names.create(on_machine(name), size_bytes);
}

std::span<std::byte> World::attach_memory(std::string const& name) {
    yield();
    check_allowed(name);
    return names.attach(on_machine(name));
}

void World::unlink_memory(std::string const& name) {
    yield();
    check_allowed(name);
    names.segments.erase(on_machine(name));
}

void World::link_memory(std::string const& name, std::string const& other) {
    yield();
    check_allowed(name);
    names.link(on_machine(name), on_machine(other));
}

std::vector<std::string> World::list_memory(std::string const& prefix) {
    yield();
    auto found = names.list(on_machine(prefix));
    for (auto& name : found) name.erase(0, mark_of(current_machine()).size());
    return found;
}

int World::open_file(std::string const& path, int flags) {
    yield();
    disk.see(path);
    disk.see(directory_of(path));
    auto const* inode = disk.find(path);
    if (inode == nullptr && !is_directory(directory_of(path))) base::fail_system({"cannot open " + path}, ENOENT);
    if (inode == nullptr && (flags & O_CREAT) == 0) base::fail_system({"cannot open " + path}, ENOENT);
    if (inode != nullptr && (flags & O_EXCL) != 0) base::fail_system({"cannot open " + path}, EEXIST);
    if (inode == nullptr) check_allowed(path);
    auto const number = inode != nullptr ? *inode : disk.create(path);
    open_files_[next_fd_] = {number, current_pid(), current_machine(), false, false};
    return next_fd_++;
}

void World::close_file(int fd) { open_files_.erase(fd); }

bool World::try_lock_file(int fd, bool exclusive) {
    yield();
    auto& mine = open_files_.at(fd);
    for (auto const& [other_fd, other] : open_files_) {
        if (other_fd == fd || other.inode != mine.inode || !other.locked) continue;
        if (other.machine != mine.machine) continue; // like a file system with separate locks on each machine
        if (exclusive || other.exclusive) return false;
    }
    mine.locked = true;
    mine.exclusive = exclusive;
    return true;
}

base::FileIdentity World::identity_of(int fd) {
    yield();
    ask("which file is open");
    auto const inode = open_files_.at(fd).inode;
    return {kDevice, inode, disk.links(inode)};
}

std::optional<base::FileIdentity> World::identity_of(std::string const& path) {
    yield();
    ask("which file " + path + " is");
    disk.see(path);
    if (path == kDirectory) return base::FileIdentity{kDevice, kDirectoryInode, 1};
    auto const* const inode = disk.find(path);
    if (inode == nullptr) return std::nullopt;
    return base::FileIdentity{kDevice, *inode, disk.links(*inode)};
}

bool World::is_directory(std::string const& path) {
    if (path == kDirectory) return true;
    auto const* const inode = disk.find(path);
    return inode != nullptr && disk.files.at(*inode).is_directory;
}

bool World::make_directory(std::string const& path) {
    yield();
    disk.see(path);
    if (!is_directory(directory_of(path))) base::fail_system({"cannot create the directory " + path}, ENOENT);
    if (disk.find(path) != nullptr) return false;
    disk.files[disk.create(path)].is_directory = true;
    return true;
}

void World::remove_directory(std::string const& path) {
    yield();
    if (!is_directory(path)) return;
    disk.see_all_in(path);
    auto const is_inside = [&](auto const& each) { return directory_of(each.first) == path; };
    if (std::ranges::none_of(disk.names, is_inside)) disk.set_name(path, 0);
}

bool World::make_label(std::string const& path, std::string const& text) {
    yield();
    disk.see(path);
    if (!is_directory(directory_of(path))) base::fail_system({"cannot make the link " + path}, ENOENT);
    if (disk.find(path) != nullptr) return false;
    disk.files[disk.create(path)].label = text;
    return true;
}

std::optional<std::string> World::read_label(std::string const& path) {
    yield();
    disk.see(path);
    auto const* const inode = disk.find(path);
    return inode == nullptr ? std::nullopt : disk.files.at(*inode).label;
}

bool World::remove_file(std::string const& path) {
    yield();
    if (disk.find(path) == nullptr) return false;
    check_allowed(path);
    disk.set_name(path, 0);
    return true;
}

std::vector<std::string> World::list_directory(std::string const& path) {
    yield();
    if (weather.lists_without_answer > 0 && weather.without_answer == current_machine()) {
        --weather.lists_without_answer;
        base::fail_system({"cannot list " + path}, EIO);
    }
    disk.see_all_in(path);
    std::vector<std::string> found;
    for (auto const& [name, inode] : disk.names) {
        if (directory_of(name) == path) found.push_back(name.substr(path.size() + 1));
    }
    return found;
}

void World::sync_directory_of(std::string const& path) {
    yield();
    auto const directory = directory_of(path);
    if (!is_directory(directory)) base::fail_system({"cannot sync the directory of " + path}, ENOENT);
    ++directory_syncs;
    auto const changes = disk.name_changes.size();
    sleep_ns(random.any_size(weather.longest_sync_ns));
    if (!lies(path)) disk.sync_names(changes, directory);
}

bool World::lies(std::string const& path) const {
    if (weather.lying_file.empty() || !path.ends_with(weather.lying_file)) return false;
    return weather.lying_to == kNoMachine || weather.lying_to == current_machine();
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
    auto const all = disk_bytes();
    return {all - std::min(all, used), all};
}

} // namespace thalweg::simulator
