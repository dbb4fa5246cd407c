#include "thalweg/base/memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/huge_pages.h"
#include "thalweg/base/stand_in.h"
#include "thalweg/base/units.h"

namespace thalweg::base {
namespace {

constexpr char const* kDirectory = "/dev/shm";
constexpr char const* kNoRoomSuggestion = "free some, or lower the producers' memory";

std::byte* map(std::size_t size_bytes, int flags, int fd, std::string const& what) {
    void* const address = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (address == MAP_FAILED) fail_system({"cannot map " + what}, errno);
    return static_cast<std::byte*>(address);
}

// Takes addresses for what the alignment may need in addition, and gives back those in front and behind.
std::byte* map_aligned(std::size_t size_bytes, int flags, int fd, std::string const& what) {
    auto const taken_bytes = size_bytes + kHugePageBytes;
    auto* const taken = ::mmap(nullptr, taken_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (taken == MAP_FAILED) fail_system({"cannot map " + what}, errno);
    auto* const first = static_cast<std::byte*>(taken);
    auto const address = reinterpret_cast<std::uintptr_t>(first);
    auto const in_front = round_up(address, kHugePageBytes) - address;
    auto* const begin = first + in_front;
    if (::mmap(begin, size_bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0) == MAP_FAILED) {
        auto const error = errno;
        ::munmap(first, taken_bytes);
        fail_system({"cannot map " + what}, error);
    }
    if (in_front > 0) ::munmap(first, in_front);
    ::munmap(begin + size_bytes, kHugePageBytes - in_front);
    return begin;
}

// Memory that several processes see, at an address from which huge pages can be mapped.
std::byte* map_shared(std::size_t size_bytes, int fd, std::string const& what) {
    return size_bytes < kHugePageBytes ? map(size_bytes, MAP_SHARED, fd, what)
                                       : map_aligned(size_bytes, MAP_SHARED, fd, what);
}

std::string folder_of(std::string const& name) {
    auto const end = name.rfind('/');
    return end == std::string::npos ? kDirectory : name.substr(0, end);
}

// An errno, or 0. Asked first, because to try it would take all that others have left, if only for a moment.
int why_no_room(std::string const& folder, std::size_t size_bytes) {
    struct statvfs status {};
    if (::statvfs(folder.c_str(), &status) != 0) return errno;
    bool const limited = status.f_blocks > 0;
    return limited && status.f_bavail * status.f_frsize < size_bytes ? ENOSPC : 0;
}

bool is_no_room(int code) {
    return code == ENOSPC || code == EDQUOT || code == ENOENT || code == ENOTDIR || code == EACCES || code == EPERM ||
           code == EROFS || code == ENODEV || code == EOPNOTSUPP;
}

[[noreturn]] void fail_allocation(std::string const& where, std::size_t size_bytes, int error,
                                  std::string const& suggestion) {
    auto const size = format_bytes(static_cast<double>(size_bytes));
    fail_system({"cannot allocate " + size + " of shared memory in " + where,
                 error == ENOSPC ? "there is no room: " + std::string(std::strerror(error)) : "", suggestion},
                error);
}

} // namespace

std::string name_in_folder(std::string const& folder, std::string const& name) {
    return folder.empty() ? name : folder + '/' + name;
}

AlignedBuffer::AlignedBuffer(std::size_t size_bytes, PageSize page_size)
    : size_bytes_(round_up(size_bytes, kBlockBytes)) {
    if (size_bytes_ == 0) return;
    if (page_size == PageSize::ordinary) {
        data_ = map(size_bytes_, MAP_PRIVATE | MAP_ANONYMOUS, -1, "a buffer");
        return;
    }
    data_ = map_aligned(size_bytes_, MAP_PRIVATE | MAP_ANONYMOUS, -1, "a buffer");
    advise_huge_pages(bytes());
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
}

AlignedBuffer::~AlignedBuffer() {
    if (data_ != nullptr) ::munmap(data_, size_bytes_);
}

std::string SharedMemory::path_of(std::string const& name) {
    return name.find('/') == std::string::npos ? std::string(kDirectory) + '/' + name : name;
}

SharedMemory SharedMemory::create(std::string const& name, MemorySize const& wanted) {
    if (stand_in != nullptr) return simulated(name, stand_in->create_memory(name, wanted.bytes), true);
    auto const path = path_of(name), folder = folder_of(name);
    auto const size = round_up(wanted.bytes, kBlockBytes);
    auto const fail = [&](int error) { fail_allocation(folder, wanted.allocated_bytes, error, kNoRoomSuggestion); };
    if (int const error = why_no_room(folder, wanted.allocated_bytes); error != 0) fail(error);
    auto const fd = open_file(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    SharedMemory segment;
    segment.name_ = name;
    segment.owner_ = true;
    segment.owner_pid_ = ::getpid();
    segment.size_bytes_ = size;
    auto const allocated = static_cast<off_t>(std::min(round_up(wanted.allocated_bytes, kBlockBytes), size));
    if (int const error = ::posix_fallocate(fd.get(), 0, allocated); error != 0) fail(error);
    if (::ftruncate(fd.get(), static_cast<off_t>(size)) != 0) fail_system({"cannot set the size of " + path}, errno);
    segment.data_ = map_shared(segment.size_bytes_, fd.get(), path);
    return segment;
}

SharedMemory SharedMemory::create_where_room(std::string const& name, MemorySize const& size,
                                             MemoryFallback const& fallback) {
    int first_error = 0;
    try {
        return create(name, size);
    } catch (SystemError const& error) {
        if (!is_no_room(error.code)) throw;
        first_error = error.code;
    }
    if (fallback.folder.empty()) fail_allocation(kDirectory, size.allocated_bytes, first_error, fallback.suggestion);
    try {
        return create(name_in_folder(fallback.folder, name), size);
    } catch (SystemError const& error) {
        if (!is_no_room(error.code)) throw;
        auto const both = std::string(kDirectory) + " or in " + fallback.folder;
        fail_allocation(both, size.allocated_bytes, error.code, fallback.suggestion);
    }
}

SharedMemory SharedMemory::create_private(std::size_t size_bytes) {
    if (stand_in != nullptr) return simulated("", stand_in->create_memory("", size_bytes), false);
    SharedMemory segment;
    segment.size_bytes_ = round_up(size_bytes, kBlockBytes);
    // Shared with children all the same, but reachable by no name.
    segment.data_ = map(segment.size_bytes_, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, "private memory");
    return segment;
}

SharedMemory SharedMemory::attach(std::string const& name) {
    if (stand_in != nullptr) return simulated(name, stand_in->attach_memory(name), false);
    auto const path = path_of(name);
    auto const fd = open_file(path, O_RDWR);
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) fail_system({"cannot read the size of " + path}, errno);
    if (status.st_uid != ::geteuid()) fail_system({"refused to attach to " + path, "it belongs to another user"});
    if (status.st_size == 0) fail_system({"refused to attach to " + path, "it is empty"}, ENOENT);
    SharedMemory segment;
    segment.name_ = name;
    segment.owner_pid_ = ::getpid();
    segment.size_bytes_ = static_cast<std::size_t>(status.st_size);
    segment.data_ = map_shared(segment.size_bytes_, fd.get(), path);
    return segment;
}

SharedMemory SharedMemory::attach_where_it_is(std::string const& name, std::string const& folder) {
    try {
        return attach(name);
    } catch (SystemError const& error) {
        if (error.code != ENOENT || folder.empty()) throw;
        return attach(name_in_folder(folder, name));
    }
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : name_(std::move(other.name_)), data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)), owner_(std::exchange(other.owner_, false)),
      owner_pid_(other.owner_pid_), simulated_(other.simulated_) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
    std::swap(name_, other.name_);
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    std::swap(owner_, other.owner_);
    std::swap(owner_pid_, other.owner_pid_);
    std::swap(simulated_, other.simulated_);
    return *this;
}

SharedMemory SharedMemory::simulated(std::string const& name, std::span<std::byte> bytes, bool owner) {
    SharedMemory segment;
    segment.name_ = name;
    segment.data_ = bytes.data();
    segment.size_bytes_ = bytes.size();
    segment.owner_ = owner;
    segment.owner_pid_ = ::getpid();
    segment.simulated_ = true;
    return segment;
}

SharedMemory::~SharedMemory() {
    if (data_ != nullptr && !simulated_) ::munmap(data_, size_bytes_);
    if (owner_ && owner_pid_ == ::getpid()) unlink(name_);
}

void SharedMemory::allocate(std::size_t offset, std::size_t size_bytes) const {
    if (name_.empty() || stand_in != nullptr) return; // private memory is allocated when it is touched
    auto error = why_no_room(folder_of(name_), size_bytes);
    if (error == 0) {
        auto const fd = open_file(path_of(name_), O_RDWR);
        error = ::posix_fallocate(fd.get(), static_cast<off_t>(offset), static_cast<off_t>(size_bytes));
    }
    if (error != 0) fail_allocation(folder_of(name_), size_bytes, error, kNoRoomSuggestion);
}

void SharedMemory::give_back(std::size_t offset, std::size_t size_bytes) const {
    if (size_bytes > 0 && stand_in == nullptr)
        ::madvise(data_ + offset, size_bytes, MADV_REMOVE); // refused: it stays allocated
}

HugePages SharedMemory::move_into_huge_pages(std::size_t offset, std::size_t size_bytes) const {
    THALWEG_ASSERT(offset + size_bytes <= size_bytes_, "what is moved is memory of this segment");
    if (simulated_ || name_.empty()) return HugePages::none;
    return base::move_into_huge_pages({data_ + offset, size_bytes});
}

void SharedMemory::unlink(std::string const& name) {
    if (stand_in != nullptr) return stand_in->unlink_memory(name);
    if (!name.empty()) ::unlink(path_of(name).c_str());
}

void SharedMemory::link(std::string const& name, std::string const& other) {
    if (stand_in != nullptr) return stand_in->link_memory(name, other);
    if (::link(path_of(name).c_str(), path_of(other).c_str()) == 0) return;
    fail_system({"cannot give " + path_of(name) + " the name " + path_of(other)}, errno);
}

std::vector<std::string> SharedMemory::list(std::string const& prefix) {
    if (stand_in != nullptr) return stand_in->list_memory(prefix);
    std::vector<std::string> names;
    auto const folder = folder_of(prefix);
    if (::access(folder.c_str(), X_OK) != 0 && errno == EACCES) return names; // nothing in it can be this process's
    bool const in_folder = prefix.find('/') != std::string::npos;
    for (auto const& file : list_directory(folder)) {
        auto const name = name_in_folder(in_folder ? folder : "", file);
        // A folder of another program may begin like a name of ours.
        if (name.starts_with(prefix) && !is_directory(path_of(name))) names.push_back(name);
    }
    return names;
}

} // namespace thalweg::base
