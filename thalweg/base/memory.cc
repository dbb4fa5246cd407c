#include "thalweg/base/memory.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/units.h"

namespace thalweg::base {
namespace {

constexpr char const* kDirectory = "/dev/shm/";

std::byte* map(std::size_t size_bytes, int flags, int fd, std::string const& what) {
    void* const address = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (address == MAP_FAILED) fail_system({"cannot map " + what}, errno);
    return static_cast<std::byte*>(address);
}

} // namespace

AlignedBuffer::AlignedBuffer(std::size_t size_bytes) : size_bytes_(round_up(size_bytes, kBlockBytes)) {
    if (size_bytes_ > 0) data_ = map(size_bytes_, MAP_PRIVATE | MAP_ANONYMOUS, -1, "a buffer");
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

SharedMemory SharedMemory::create(std::string const& name, std::size_t size_bytes) {
    auto const path = kDirectory + name;
    auto const fd = open_file(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    SharedMemory segment;
    segment.name_ = name;
    segment.owner_ = true;
    segment.owner_pid_ = ::getpid();
    segment.size_bytes_ = round_up(size_bytes, kBlockBytes);
    if (int const error = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(segment.size_bytes_)); error != 0) {
        fail_system({"cannot allocate " + format_bytes(static_cast<double>(segment.size_bytes_)) + " of shared memory",
                     error == ENOSPC ? "/dev/shm is full" : "", "free some, or lower the producers' memory"},
                    error);
    }
    segment.data_ = map(segment.size_bytes_, MAP_SHARED, fd.get(), path);
    return segment;
}

SharedMemory SharedMemory::create_private(std::size_t size_bytes) {
    SharedMemory segment;
    segment.size_bytes_ = round_up(size_bytes, kBlockBytes);
    // Shared with children all the same, but reachable by no name.
    segment.data_ = map(segment.size_bytes_, MAP_SHARED | MAP_ANONYMOUS, -1, "private memory");
    return segment;
}

SharedMemory SharedMemory::attach(std::string const& name) {
    auto const path = kDirectory + name;
    auto const fd = open_file(path, O_RDWR);
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) fail_system({"cannot read the size of " + path}, errno);
    if (status.st_uid != ::geteuid()) fail_system({"refused to attach to " + path, "it belongs to another user"});
    if (status.st_size == 0) fail_system({"refused to attach to " + path, "it is empty"}, ENOENT);
    SharedMemory segment;
    segment.name_ = name;
    segment.owner_pid_ = ::getpid();
    segment.size_bytes_ = static_cast<std::size_t>(status.st_size);
    segment.data_ = map(segment.size_bytes_, MAP_SHARED, fd.get(), path);
    return segment;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : name_(std::move(other.name_)), data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)), owner_(std::exchange(other.owner_, false)),
      owner_pid_(other.owner_pid_) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
    std::swap(name_, other.name_);
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    std::swap(owner_, other.owner_);
    std::swap(owner_pid_, other.owner_pid_);
    return *this;
}

SharedMemory::~SharedMemory() {
    if (data_ != nullptr) ::munmap(data_, size_bytes_);
    if (owner_ && owner_pid_ == ::getpid()) unlink(name_);
}

void SharedMemory::unlink(std::string const& name) {
    if (!name.empty()) ::unlink((kDirectory + name).c_str());
}

std::vector<std::string> SharedMemory::list(std::string const& prefix) {
    std::vector<std::string> names;
    std::error_code ignored;
    for (auto const& entry : std::filesystem::directory_iterator(kDirectory, ignored)) {
        auto const name = entry.path().filename().string();
        if (name.starts_with(prefix)) names.push_back(name);
    }
    return names;
}

} // namespace thalweg::base
