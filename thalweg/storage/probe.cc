#include "thalweg/storage/probe.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <utility>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/units.h"
#include "thalweg/storage/failure.h"
#include "thalweg/storage/stand_in.h"

namespace thalweg::storage {
namespace {

std::string existing(std::string const& path) {
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return path;
    auto const directory = std::filesystem::path(path).parent_path().string();
    return directory.empty() ? "." : directory;
}

constexpr std::array<std::pair<std::uint32_t, char const*>, 12> kFileSystems{{{EXT4_SUPER_MAGIC, "ext4"},
                                                                              {XFS_SUPER_MAGIC, "xfs"},
                                                                              {BTRFS_SUPER_MAGIC, "btrfs"},
                                                                              {F2FS_SUPER_MAGIC, "f2fs"},
                                                                              {TMPFS_MAGIC, "tmpfs"},
                                                                              {OVERLAYFS_SUPER_MAGIC, "overlayfs"},
                                                                              {NFS_SUPER_MAGIC, "nfs"},
                                                                              {CEPH_SUPER_MAGIC, "ceph"},
                                                                              {FUSE_SUPER_MAGIC, "fuse"},
                                                                              {0x2fc12fc1, "zfs"},
                                                                              {0x0bd00bd0, "lustre"},
                                                                              {0x47504653, "gpfs"}}};

// The question STATX_DIOALIGN came with Linux 6.1; the C library's headers may be older than the kernel, so bit and
// place of the answer are given here. They are part of the kernel's interface and cannot change.
constexpr unsigned kAskDirectAlignment = 0x2000;
constexpr std::size_t kDirectAlignmentAt = 0x98; // struct statx: stx_dio_mem_align, stx_dio_offset_align

Space space_in(struct statvfs const& status) {
    return {status.f_bavail * status.f_frsize, status.f_blocks * status.f_frsize};
}

std::string name_of(struct statfs const& status) {
    auto const magic = static_cast<std::uint32_t>(status.f_type);
    for (auto const& [known, name] : kFileSystems) {
        if (magic == known) return name;
    }
    return fmt::format("{:#x}", magic);
}

} // namespace

Space space_of(std::string const& path) {
    if (stand_in != nullptr) return stand_in->space();
    struct statvfs status {};
    if (::statvfs(existing(path).c_str(), &status) != 0) fail_whole("find the free space for", path, errno);
    return space_in(status);
}

Space space_of(base::FileDescriptor const& file, std::string const& path) {
    if (stand_in != nullptr) return stand_in->space();
    struct statvfs status {};
    if (::fstatvfs(file.get(), &status) != 0) fail_whole("find the free space for", path, errno);
    return space_in(status);
}

std::string file_system_of(std::string const& path) {
    if (stand_in != nullptr) return "ext4";
    struct statfs status {};
    if (::statfs(existing(path).c_str(), &status) != 0) fail_whole("find the file system of", path, errno);
    return name_of(status);
}

std::string file_system_of(base::FileDescriptor const& file, std::string const& path) {
    if (stand_in != nullptr) return "ext4";
    struct statfs status {};
    if (::fstatfs(file.get(), &status) != 0) fail_whole("find the file system of", path, errno);
    return name_of(status);
}

std::string why_not_direct(std::string const& path) {
    struct statx status {};
    if (::statx(AT_FDCWD, path.c_str(), 0, kAskDirectAlignment, &status) != 0) return std::strerror(errno);
    std::array<std::uint32_t, 2> alignment{};
    std::memcpy(alignment.data(), reinterpret_cast<std::byte const*>(&status) + kDirectAlignmentAt, sizeof alignment);
    auto const [memory, offset] = alignment;
    auto const name = file_system_of(path);
    // No answer at all: the file system has no direct I/O, or the kernel is older than the question.
    bool const answered = (status.stx_mask & kAskDirectAlignment) != 0;
    bool const offered = answered ? memory != 0 && offset != 0 : name == "ext4" || name == "xfs";
    if (!offered) return name + " does not offer direct I/O";
    if (answered && (base::kBlockBytes % memory != 0 || base::kBlockBytes % offset != 0)) {
        return fmt::format("direct I/O on it needs multiples of {} bytes", std::max(memory, offset));
    }
    base::FileDescriptor const file(::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
    if (!file) return fmt::format("{} refuses O_DIRECT: {}", name, std::strerror(errno));
    return "";
}

} // namespace thalweg::storage
