#include "thalweg/readout/client/client_link.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"

namespace thalweg::readout {
namespace {

template <class Body> Body read_as(ReceivedMessage const& message) {
    if (message.head.length_bytes != sizeof(Body)) base::fail_data({"it sent a message of a wrong length"});
    Body body;
    std::memcpy(&body, message.body().data(), sizeof body);
    return body;
}

} // namespace

void ClientLink::enter(Phase phase) {
    THALWEG_ASSERT(phase == Phase::away || static_cast<int>(phase) == static_cast<int>(phase_) + 1,
                   "a connection goes through its phases in order");
    phase_ = phase;
    since_ns_ = base::monotonic_ns();
}

void ClientLink::connect() {
    enter(Phase::connecting);
    try {
        socket_ = transport::begin_connect(address_.now());
        poller_.add(socket_.get(), key_, false, true);
        waits_to_send_ = true;
    } catch (base::SystemError const& error) {
        fail(error.what());
    }
}

bool ClientLink::finish_connecting() {
    auto const error = transport::connect_error(socket_);
    if (error == EINPROGRESS) return false;
    if (error != 0) {
        fail(std::strerror(error));
        return false;
    }
    poller_.change(socket_.get(), key_, true, false);
    waits_to_send_ = false;
    enter(Phase::greeting);
    return true;
}

void ClientLink::fail(std::string const& why) {
    leave(why);
    address_.look_up_again(); // before the next attempt
}

// The port of metrics takes a hello for a request that makes no sense as soon as a byte of it looks like an end of
// line.
void ClientLink::fail_closed(int error) {
    if (error != 0) return fail(std::strerror(error));
    fail(phase_ == Phase::greeting ? kNoWelcome : "it closed the connection");
}

void ClientLink::leave(std::string const& why) {
    if (socket_) poller_.remove(socket_.get());
    socket_.reset();
    out_.clear();
    sent_bytes_ = head_bytes_ = body_bytes_ = 0;
    message_.reset();
    waits_for_memory_ = false;
    memory_file_.reset();
    handler_memory_.reset();
    failure_ = why;
    enter(Phase::away);
}

void ClientLink::part(std::uint64_t until_ns, std::string const& why) {
    std::array<std::byte, 16384> unread;
    bool has_said_all = false;
    for (auto now = base::monotonic_ns(); phase_ >= Phase::greeting && now < until_ns; now = base::monotonic_ns()) {
        flush();
        if (phase_ == Phase::away) return;
        if (out_.empty() && !std::exchange(has_said_all, true)) transport::end_sending(socket_);
        auto const moved = transport::receive_some(socket_, unread);
        if (moved.closed) break;
        if (moved.bytes == 0) transport::wait_for(socket_, !has_said_all, until_ns - now);
    }
    leave(why);
}

void ClientLink::queue(MessageType type, std::uint32_t tag, std::span<std::byte const> body,
                       std::span<std::byte const> more) {
    tell_released(); // first, so that there is room for the answer
    MessageHead const head{
        .type = type, .length_bytes = static_cast<std::uint32_t>(body.size() + more.size()), .tag = tag};
    auto const bytes = std::as_bytes(std::span(&head, 1));
    out_.insert(out_.end(), bytes.begin(), bytes.end());
    out_.insert(out_.end(), body.begin(), body.end());
    out_.insert(out_.end(), more.begin(), more.end());
}

void ClientLink::ask_for_memory(std::uint64_t bytes) {
    if (goes_without_memory_ || !transport::can_pass_files(socket_)) return;
    waits_for_memory_ = true;
    send(MessageType::share, 0, Share{bytes});
}

void ClientLink::tell_released() {
    if (!handler_memory_ || handler_memory_->released() == told_released_) return;
    told_released_ = handler_memory_->released();
    send(MessageType::release, 0, Release{told_released_});
}

void ClientLink::flush() {
    if (phase_ < Phase::greeting) return;
    tell_released();
    if (out_.empty()) return;
    while (sent_bytes_ < out_.size()) {
        auto const moved = transport::send_some(socket_, std::span(out_).subspan(sent_bytes_));
        if (moved.closed) return fail_closed(moved.error);
        if (moved.bytes == 0) break;
        sent_bytes_ += moved.bytes;
        THALWEG_ASSERT(sent_bytes_ <= out_.size(), "only queued bytes are sent");
        last_sent_ns_ = base::monotonic_ns();
    }
    bool const is_rest = sent_bytes_ < out_.size();
    if (is_rest != waits_to_send_) poller_.change(socket_.get(), key_, true, is_rest);
    waits_to_send_ = is_rest;
    if (is_rest) return;
    out_.clear();
    sent_bytes_ = 0;
}

bool ClientLink::receive_into(std::span<std::byte> room, std::size_t& bytes) {
    auto const moved = waits_for_memory_ ? transport::receive_with_file(socket_, room, memory_file_)
                                         : transport::receive_some(socket_, room);
    if (moved.closed) {
        fail_closed(moved.error);
        return false;
    }
    bytes += moved.bytes;
    drained_ = moved.bytes < room.size();
    return moved.bytes > 0;
}

bool ClientLink::receive_head() {
    while (head_bytes_ < sizeof head_) {
        if (!receive_into(std::span(head_).subspan(head_bytes_), head_bytes_)) return false;
    }
    return true;
}

bool ClientLink::begin_body(MessagePool& pool, std::uint64_t most_bytes) {
    MessageHead head;
    std::memcpy(&head, head_.data(), sizeof head);
    head_bytes_ = 0;
    bool const is_of_this_version = head.version == kProtocolVersion;
    // The answer to a hello of another version is a refusal, which is the same in all versions.
    bool const is_readable = is_of_this_version || head.type == MessageType::refused;
    if (head.marker == kProtocolMarker && !is_readable) {
        fail(fmt::format("it speaks version {} of the protocol, and this client version {}: use the same release of "
                         "Thalweg for both",
                         head.version, kProtocolVersion));
        return false;
    }
    if (head.marker != kProtocolMarker || head.length_bytes > most_bytes) {
        fail(fmt::format("it sent bytes that are no message (marker {:#010x}, version {}, {} bytes)", head.marker,
                         head.version, head.length_bytes));
        return false;
    }
    message_ = ReceivedMessage{head, {pool.take(head.length_bytes + sizeof head_), {}}};
    body_bytes_ = 0;
    return true;
}

std::optional<ReceivedMessage> ClientLink::receive(MessagePool& pool, std::uint64_t most_bytes) {
    while (auto message = receive_any(pool, most_bytes)) {
        auto const type = message->head.type;
        if (type != MessageType::shared && type != MessageType::in_memory) return message;
        try {
            if (type == MessageType::shared) take_memory(*message);
            std::optional<ReceivedMessage> answer;
            if (type == MessageType::in_memory) answer = find_in_memory(*message, most_bytes);
            pool.give_back(std::move(message->memory));
            if (answer) return answer;
        } catch (base::SystemError const& error) { // the next connection does without
            goes_without_memory_ = true;
            fail(error.what());
        } catch (base::DataError const& error) {
            fail(error.what());
        }
    }
    return std::nullopt;
}

void ClientLink::take_memory(ReceivedMessage const& message) {
    auto const shared = read_as<Shared>(message);
    if (!std::exchange(waits_for_memory_, false)) base::fail_data({"it passed memory that was not asked for"});
    auto const file = std::exchange(memory_file_, {});
    if (shared.bytes == 0) return;
    handler_memory_ = std::make_shared<HandlerMemory>(transport::map_sealed(file, shared.bytes));
    told_released_ = 0;
}

ReceivedMessage ClientLink::find_in_memory(ReceivedMessage const& message, std::uint64_t most_bytes) const {
    auto const place = read_as<InMemory>(message);
    if (!handler_memory_ || !handler_memory_->holds(place) || place.bytes > most_bytes)
        base::fail_data({fmt::format("it sent an answer of {} bytes at {} in memory", place.bytes, place.offset),
                         "the memory does not hold them"});
    auto head = message.head;
    head.type = MessageType::events;
    head.length_bytes = static_cast<std::uint32_t>(place.bytes);
    return {head, {{}, AnswerInMemory(handler_memory_, place)}};
}

std::optional<ReceivedMessage> ClientLink::receive_any(MessagePool& pool, std::uint64_t most_bytes) {
    if (phase_ < Phase::greeting) return std::nullopt;
    if (!message_ && (!receive_head() || !begin_body(pool, most_bytes))) return std::nullopt;
    auto const length = message_->head.length_bytes;
    drained_ = false;
    while (body_bytes_ < length) {
        auto const room = message_->memory.buffer.bytes().subspan(body_bytes_, length + sizeof head_ - body_bytes_);
        if (drained_ || !receive_into(room, body_bytes_)) return std::nullopt;
    }
    head_bytes_ = body_bytes_ - length;
    THALWEG_ASSERT(head_bytes_ <= sizeof head_, "behind a body at most one head is received");
    std::memcpy(head_.data(), message_->memory.buffer.data() + length, head_bytes_);
    return std::exchange(message_, std::nullopt);
}

} // namespace thalweg::readout
