// What clients ask for: bytes into requests, and what is wrong with either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "thalweg/readout/protocol.h"

namespace thalweg::readout {

struct Problem {
    Refusal why = Refusal::malformed;
    std::string sentence;
};

// A message in somebody's buffer.
struct Message {
    MessageHead head;
    std::span<std::byte const> body;

    std::size_t bytes() const { return sizeof head + body.size(); }
};

// The message at the beginning of `bytes`. Neither message nor problem: it is not whole yet.
struct Framed {
    std::optional<Message> message;
    std::optional<Problem> problem;
};
Framed frame(std::span<std::byte const> bytes);

// Take, Get and Clear in one: what a message has not stays as it is here.
struct Request {
    MessageType type = MessageType::get;
    std::uint32_t tag = 0;
    std::uint64_t first = 0;
    std::uint32_t run = 0;
    std::uint32_t count = 0;
    std::uint32_t max_bytes = 0;
    std::uint32_t min_count = 0;
    bool left_behind = false;
    std::uint32_t deadline_ms = 0;
    Seal seal = {}; // of a Clear: that of its key
    // Of the server's clock.
    std::uint64_t arrived_ns = 0;
    std::uint64_t deadline_ns = 0;

    std::uint64_t end() const { return first + count; }
};
// Of a message whose length fits its type, as frame() has seen to.
Request request_of(Message const& message);
std::optional<Problem> problem_of_range(Request const& request);

// Takes as long for a wrong token as for the right one.
bool same_token(std::span<std::byte const> given, std::string const& wanted);

} // namespace thalweg::readout
