#include "thalweg/readout/server/request.h"

#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/secret.h"
#include "thalweg/readout/server/index.h"

namespace thalweg::readout {
namespace {

template <typename T> T read_as(std::span<std::byte const> bytes) {
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

Framed malformed(std::string sentence) { return {std::nullopt, Problem{Refusal::malformed, std::move(sentence)}}; }

std::optional<Problem> problem_of_hello(std::span<std::byte const> body) {
    if (body.size() < sizeof(Hello)) return Problem{Refusal::malformed, "a hello is shorter than it must be"};
    auto const hello = read_as<Hello>(body);
    if (hello.token_bytes > kMaxTokenBytes || hello.token_bytes != body.size() - sizeof hello)
        return Problem{Refusal::malformed,
                       fmt::format("a hello of {} bytes cannot hold a token of {}", body.size(), hello.token_bytes)};
    if (hello.role != ClientRole::collector && hello.role != ClientRole::observer)
        return Problem{Refusal::malformed, fmt::format("there is no role {}", static_cast<std::uint32_t>(hello.role))};
    return std::nullopt;
}

// The sizes that a message may have behind its head: `bytes`, and up to `most` times `each` more.
struct MessageSize {
    std::size_t bytes = 0;
    std::size_t each = 1;
    std::size_t most = 0;

    bool fits(std::size_t length) const {
        return length >= bytes && (length - bytes) % each == 0 && (length - bytes) / each <= most;
    }
};

std::optional<MessageSize> size_of(MessageType type) {
    switch (type) {
    case MessageType::take:
        return MessageSize{sizeof(Take), sizeof(RangeSeal), kMaxRequestRanges - 1};
    case MessageType::get:
        return MessageSize{sizeof(Get)};
    case MessageType::clear:
        return MessageSize{sizeof(Clear), sizeof(Clear), kMaxRequestRanges - 1};
    case MessageType::bye:
        return MessageSize{};
    case MessageType::share:
        return MessageSize{sizeof(Share)};
    case MessageType::release:
        return MessageSize{sizeof(Release)};
    case MessageType::hello: // the first message, which has been read
    case MessageType::welcome:
    case MessageType::taken:
    case MessageType::events:
    case MessageType::cleared:
    case MessageType::refused:
    case MessageType::shared:
    case MessageType::in_memory:
        break;
    }
    return std::nullopt; // also for a number that no message has
}

} // namespace

Framed frame(std::span<std::byte const> bytes) {
    if (bytes.size() < sizeof(MessageHead)) return {};
    auto const head = read_as<MessageHead>(bytes);
    auto const type = static_cast<unsigned>(head.type);
    if (head.marker != kProtocolMarker)
        return malformed(fmt::format("a message begins with {:#010x} instead of \"TWGR\"", head.marker));
    if (head.version != kProtocolVersion)
        return {
            std::nullopt,
            Problem{Refusal::malformed,
                    fmt::format("this handler speaks version {} of the protocol, and the client version {}: use the "
                                "same release of Thalweg for both",
                                kProtocolVersion, head.version),
                    head.version}};
    if (head.length_bytes > kMaxClientMessageBytes - sizeof head)
        return malformed(fmt::format("a message of {} bytes is longer than any that a client may send",
                                     sizeof head + std::size_t{head.length_bytes}));
    auto const size = size_of(head.type);
    if (!size && head.type != MessageType::hello) return malformed(fmt::format("clients send no message {}", type));
    if (size && !size->fits(head.length_bytes))
        return malformed(size->most == 0 ? fmt::format("message {} has {} bytes behind its head, not {}", type,
                                                       size->bytes, head.length_bytes)
                                         : fmt::format("message {} has {} bytes behind its head and up to {} times {} "
                                                       "more, not {}",
                                                       type, size->bytes, size->most, size->each, head.length_bytes));
    if (bytes.size() < sizeof head + head.length_bytes) return {};
    ClientMessage const message{head, bytes.subspan(sizeof head, head.length_bytes)};
    if (head.type == MessageType::hello)
        if (auto problem = problem_of_hello(message.body)) return {std::nullopt, std::move(problem)};
    return {message, std::nullopt};
}

Request request_of(ClientMessage const& message) {
    Request request{.type = message.head.type, .tag = message.head.tag};
    auto const fill = [&](auto const& body) {
        request.run = body.run;
        request.count = body.count;
        if constexpr (requires { body.first; }) request.first = body.first;
        if constexpr (requires { body.max_bytes; }) request.max_bytes = body.max_bytes;
        if constexpr (requires { body.min_count; }) request.min_count = body.min_count;
        if constexpr (requires { body.left_behind; }) request.left_behind = body.left_behind != 0;
        if constexpr (requires { body.seal; }) request.seal = body.seal;
        if constexpr (requires { body.key; }) request.seal = seal_of(body.key);
        if constexpr (requires { body.deadline_ms; }) request.deadline_ms = body.deadline_ms;
    };
    if (request.type == MessageType::take) {
        fill(read_as<Take>(message.body));
        request.more_seals.resize((message.body.size() - sizeof(Take)) / sizeof(RangeSeal));
        if (auto const more = std::as_writable_bytes(std::span(request.more_seals)); !more.empty())
            std::memcpy(more.data(), message.body.data() + sizeof(Take), more.size());
    }
    if (request.type == MessageType::get) fill(read_as<Get>(message.body));
    if (request.type == MessageType::clear) fill(read_as<Clear>(message.body));
    return request;
}

std::vector<Request> clears_of(ClientMessage const& message) {
    std::vector<Request> clears;
    for (auto rest = message.body; !rest.empty(); rest = rest.subspan(sizeof(Clear)))
        clears.push_back(request_of({message.head, rest}));
    return clears;
}

std::optional<Problem> problem_of_range(Request const& request) {
    auto const bad = [](std::string sentence) { return Problem{Refusal::bad_range, std::move(sentence)}; };
    if (request.count == 0 || request.count > kMaxRequestEvents)
        return bad(fmt::format("a range has 1 to {} events, not {}", kMaxRequestEvents, request.count));
    if (request.type == MessageType::take) return std::nullopt;
    if (request.count > ~std::uint64_t{0} - request.first)
        return bad(
            fmt::format("{} events from {} on go beyond the last event, 2^64 - 2", request.count, request.first));
    if (request.first % kEventsOfEcr + request.count > kEventsOfEcr)
        return bad(fmt::format("{} events from {} on are of more than one ECR", request.count, request.first));
    return std::nullopt;
}

bool same_token(std::span<std::byte const> given, std::string const& wanted) {
    return base::same_secret({reinterpret_cast<char const*>(given.data()), given.size()}, wanted);
}

} // namespace thalweg::readout
