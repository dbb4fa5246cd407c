#include "thalweg/readout/server/request.h"

#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/secret.h"
#include "thalweg/readout/server/index.h"

namespace thalweg::readout {
namespace {

constexpr std::uint32_t kMaxTokenBytes = 256;

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

std::optional<std::size_t> size_of(MessageType type) {
    switch (type) {
    case MessageType::take:
        return sizeof(Take);
    case MessageType::get:
        return sizeof(Get);
    case MessageType::clear:
        return sizeof(Clear);
    case MessageType::bye:
        return 0;
    case MessageType::hello: // the first message, which has been read
    case MessageType::welcome:
    case MessageType::taken:
    case MessageType::events:
    case MessageType::cleared:
    case MessageType::refused:
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
        return malformed(fmt::format("this is version {} of the protocol, not {}", kProtocolVersion, head.version));
    if (head.length_bytes > kMaxClientMessageBytes - sizeof head)
        return malformed(fmt::format("a message of {} bytes is longer than any that a client may send",
                                     sizeof head + std::size_t{head.length_bytes}));
    auto const size = size_of(head.type);
    if (!size && head.type != MessageType::hello) return malformed(fmt::format("clients send no message {}", type));
    if (size && head.length_bytes != *size)
        return malformed(
            fmt::format("message {} has {} bytes behind its head, not {}", type, *size, head.length_bytes));
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
    if (request.type == MessageType::take) fill(read_as<Take>(message.body));
    if (request.type == MessageType::get) fill(read_as<Get>(message.body));
    if (request.type == MessageType::clear) fill(read_as<Clear>(message.body));
    return request;
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
