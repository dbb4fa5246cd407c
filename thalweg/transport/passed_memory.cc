#include "thalweg/transport/passed_memory.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "thalweg/base/error.h"

namespace thalweg::transport {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;
constexpr int kAllSeals = kSizeSeals | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
constexpr std::size_t kMostFiles = 4; // that one message may bring: what does not fit is closed by the kernel

// The message that sendmsg() and recvmsg() take, with room for the files beside the bytes.
struct MessageWithFiles {
    MessageWithFiles(void* bytes, std::size_t count) : piece{bytes, count} {
        head.msg_iov = &piece;
        head.msg_iovlen = 1;
        head.msg_control = room.data();
        head.msg_controllen = room.size();
    }
    MessageWithFiles(MessageWithFiles const&) = delete;
    MessageWithFiles& operator=(MessageWithFiles const&) = delete;

    void put(int fd) {
        head.msg_controllen = CMSG_SPACE(sizeof fd);
        auto* const control = CMSG_FIRSTHDR(&head);
        control->cmsg_level = SOL_SOCKET;
        control->cmsg_type = SCM_RIGHTS;
        control->cmsg_len = CMSG_LEN(sizeof fd);
        std::memcpy(CMSG_DATA(control), &fd, sizeof fd);
    }
    // Takes all files that came, so that none stays open, and keeps the first one if none is kept so far.
    void take(base::FileDescriptor& file) {
        for (auto* control = CMSG_FIRSTHDR(&head); control != nullptr; control = CMSG_NXTHDR(&head, control)) {
            if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
            for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= control->cmsg_len; at += sizeof(int)) {
                int fd = -1;
                std::memcpy(&fd, CMSG_DATA(control) + at, sizeof fd);
                base::FileDescriptor taken(fd);
                if (!file) file = std::move(taken);
            }
        }
    }

    msghdr head = {};
    iovec piece;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostFiles * sizeof(int))> room = {};
};

} // namespace

Mapping::Mapping(base::FileDescriptor const& file, std::size_t size_bytes, bool writable) {
    auto* const at =
        ::mmap(nullptr, size_bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file.get(), 0);
    if (at == MAP_FAILED) base::fail_system({fmt::format("cannot map {} bytes of memory", size_bytes)}, errno);
    data_ = static_cast<std::byte*>(at);
    size_bytes_ = size_bytes;
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
}

Mapping::~Mapping() {
    if (data_ != nullptr) ::munmap(data_, size_bytes_);
}

SealedMemory SealedMemory::make(std::size_t size_bytes) {
    auto const what = fmt::format("cannot make {} bytes of memory for a client", size_bytes);
    SealedMemory memory;
    memory.file = base::FileDescriptor(::memfd_create("thalweg-answers", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!memory.file) base::fail_system({what}, errno);
    if (::ftruncate(memory.file.get(), static_cast<off_t>(size_bytes)) != 0) base::fail_system({what}, errno);
    if (int const error = ::posix_fallocate(memory.file.get(), 0, static_cast<off_t>(size_bytes)); error != 0)
        base::fail_system({what}, error);
    memory.mapping = Mapping(memory.file, size_bytes, true); // before the seal: after it no process can map it to write
    if (::fcntl(memory.file.get(), F_ADD_SEALS, kAllSeals) != 0)
        base::fail_system({what, "it cannot be sealed"}, errno);
    return memory;
}

Mapping map_sealed(base::FileDescriptor const& file, std::size_t size_bytes) {
    struct stat found {};
    if (::fstat(file.get(), &found) != 0) base::fail_system({"cannot ask for the size of passed memory"}, errno);
    if (static_cast<std::size_t>(found.st_size) != size_bytes || size_bytes == 0)
        base::fail_data({fmt::format("it passed memory of {} bytes", found.st_size),
                         fmt::format("it says that there are {}", size_bytes)});
    int const seals = ::fcntl(file.get(), F_GET_SEALS);
    if (seals < 0 || (seals & kSizeSeals) != kSizeSeals)
        base::fail_data({"it passed memory that it could shrink", "reading it could kill this process"});
    return {file, size_bytes, false};
}

bool can_pass_files(base::FileDescriptor const& socket) {
    int domain = 0;
    socklen_t size_bytes = sizeof domain;
    return ::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &domain, &size_bytes) == 0 && domain == AF_UNIX;
}

bool send_with_file(base::FileDescriptor const& socket, std::span<std::byte const> bytes,
                    base::FileDescriptor const& file) {
    MessageWithFiles message(const_cast<std::byte*>(bytes.data()), bytes.size());
    message.put(file.get());
    ssize_t sent = 0;
    do {
        sent = ::sendmsg(socket.get(), &message.head, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return sent == static_cast<ssize_t>(bytes.size());
}

Moved receive_with_file(base::FileDescriptor const& socket, std::span<std::byte> room, base::FileDescriptor& file) {
    if (room.empty()) return {};
    MessageWithFiles message(room.data(), room.size());
    ssize_t received = 0;
    do {
        received = ::recvmsg(socket.get(), &message.head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (received < 0 && errno == EINTR);
    if (received < 0) return moved_by(received, true);
    message.take(file);
    return moved_by(received, true);
}

} // namespace thalweg::transport
