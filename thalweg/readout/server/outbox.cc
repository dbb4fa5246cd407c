#include "thalweg/readout/server/outbox.h"

#include <algorithm>
#include <cerrno>
#include <sys/socket.h>

#include "thalweg/base/assert.h"
#include "thalweg/transport/passed_memory.h"
#include "thalweg/transport/tcp.h"

namespace thalweg::readout {
namespace {

constexpr std::size_t kMostPieces = 1024; // the kernel's limit for one call (IOV_MAX)

} // namespace

void Outbox::add(ByteBuffer&& answer) {
    bytes_ += answer.size();
    held_ += answer.capacity();
    buffers_.push_back(std::move(answer));
}

void Outbox::add_small(std::span<std::byte const> bytes) {
    auto& last = buffers_.empty() ? buffers_.emplace_back() : buffers_.back();
    auto& buffer = last.size() + bytes.size() > BufferPool::kSmallBytes ? buffers_.emplace_back() : last;
    auto const before = buffer.capacity();
    buffer.append(bytes.data(), bytes.size());
    held_ += buffer.capacity() - before;
    bytes_ += bytes.size();
}

void Outbox::add_pieces(std::span<iovec> pieces) {
    while (can_send() && empty() && !pieces.empty()) {
        msghdr message{};
        message.msg_iov = pieces.data();
        message.msg_iovlen = std::min(pieces.size(), kMostPieces);
        auto const taken = ::sendmsg(socket_->get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (taken < 0 && errno == EINTR) continue;
        if (taken < 0) {
            (errno == EAGAIN ? blocked_ : broken_) = true;
            break;
        }
        sent_ += static_cast<std::uint64_t>(taken);
        auto rest = static_cast<std::size_t>(taken);
        while (!pieces.empty() && rest >= pieces.front().iov_len) {
            rest -= pieces.front().iov_len;
            pieces = pieces.subspan(1);
        }
        if (rest == 0) continue;
        pieces.front().iov_base = static_cast<std::byte*>(pieces.front().iov_base) + rest;
        pieces.front().iov_len -= rest;
    }
    if (pieces.empty()) return;
    auto copy = pool_.take();
    for (auto const& piece : pieces) copy.append(piece.iov_base, piece.iov_len);
    add(std::move(copy));
}

bool Outbox::can_pass_files() const { return can_send() && empty() && transport::can_pass_files(*socket_); }

bool Outbox::send_with_file(std::span<std::byte const> bytes, base::FileDescriptor const& file) {
    THALWEG_ASSERT(can_send() && empty(), "a file goes with the message that it belongs to");
    if (!transport::send_with_file(*socket_, bytes, file)) return false;
    sent_ += bytes.size();
    return true;
}

void Outbox::send() {
    while (can_send() && !empty()) {
        auto const bytes = front();
        auto const moved = transport::send_some(*socket_, bytes);
        broken_ = moved.closed;
        blocked_ = moved.bytes < bytes.size();
        sent_ += moved.bytes;
        pop(moved.bytes);
    }
}

void Outbox::writable() {
    blocked_ = false;
    send();
}

std::span<std::byte const> Outbox::front() const {
    return buffers_.empty() ? std::span<std::byte const>{} : buffers_.front().bytes().subspan(offset_);
}

void Outbox::pop(std::size_t count) {
    THALWEG_ASSERT(count <= bytes_ && count <= front().size(), "only bytes that wait are taken out");
    offset_ += count;
    bytes_ -= count;
    if (buffers_.empty() || offset_ < buffers_.front().size()) return;
    THALWEG_ASSERT(held_ >= buffers_.front().capacity(), "held bytes are the capacity of all buffers");
    held_ -= buffers_.front().capacity();
    if (buffers_.front().capacity() > BufferPool::kSmallBytes) pool_.give(std::move(buffers_.front()));
    buffers_.pop_front();
    offset_ = 0;
}

} // namespace thalweg::readout
