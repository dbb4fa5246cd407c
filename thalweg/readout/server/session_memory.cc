// The part of a session that puts answers into memory, for a client on the same host.
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

#include "thalweg/readout/server/session.h"

namespace thalweg::readout {

// The memory goes with the message at once, or not at all: answers before it must not be in its way.
void Session::share(ClientMessage const& message) {
    if (std::exchange(has_shared_, true))
        return refuse({Refusal::malformed, "a client asks for memory once"}, message.head.tag);
    Share share;
    std::memcpy(&share, message.body.data(), sizeof share);
    auto const page = std::uint64_t{4096};
    auto const most = std::min(context_.config.shared_memory_bytes, context_.config.queued_bytes / 2);
    outbox_.send();
    bool const may = role_ == ClientRole::collector && outbox_.can_pass_files();
    auto memory = may ? AnswerMemory::make(std::min(share.bytes, most) / page * page, context_.quota) : nullptr;
    Shared const shared{memory ? memory->size() : 0};
    ByteBuffer answer;
    answer.append(MessageHead{.type = MessageType::shared, .length_bytes = sizeof shared, .tag = message.head.tag});
    answer.append(shared);
    if (memory && outbox_.send_with_file(answer.bytes(), memory->file())) {
        memory->passed_on();
        memory_ = std::move(memory);
    } else {
        context_.counters.memory_missing.add(may && most >= page ? 1 : 0);
        Shared const none;
        say(MessageType::shared, message.head.tag, std::as_bytes(std::span(&none, 1)));
    }
}

void Session::release(ClientMessage const& message) {
    Release release;
    std::memcpy(&release, message.body.data(), sizeof release);
    if (!memory_ || !memory_->release(release.answers))
        refuse({Refusal::malformed,
                fmt::format("{} answers in memory are released, and there were not so many", release.answers)},
               message.head.tag);
}

// Returns false if the answer has to go over the socket.
bool Session::send_in_memory(Request const& request, Index::Limits const& limits) {
    if (!memory_) return false;
    auto const event_bytes = sizeof(EventRecord) + context_.served.max_fragment_bytes;
    auto const most = std::max<std::uint64_t>(std::min(limits.max_bytes, limits.count * event_bytes), event_bytes);
    auto const room = memory_->room(sizeof(EventsHead) + most);
    Index::Tally tally;
    auto const filled = room.empty() ? Index::Filled{request.first, 0}
                                     : context_.served.index->read(request.first, limits, context_.pin,
                                                                   room.subspan(sizeof(EventsHead)), &tally);
    if (filled.next == request.first) {
        context_.counters.memory_full.add(1);
        return false;
    }
    auto const head = head_of(request, filled.next);
    std::memcpy(room.data(), &head, sizeof head);
    auto const bytes = sizeof head + filled.bytes;
    InMemory const place{memory_->add(bytes), bytes};
    turn_bytes_ += bytes;
    context_.counters.memory_bytes.add(bytes);
    say(MessageType::in_memory, request.tag, std::as_bytes(std::span(&place, 1)));
    outbox_.send();
    count(request, tally);
    return true;
}

} // namespace thalweg::readout
