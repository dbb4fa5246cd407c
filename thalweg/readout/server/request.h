// Turns the bytes of clients into requests, and finds what is wrong with either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/readout/protocol.h"

namespace thalweg::readout {

struct Problem {
    Refusal why = Refusal::malformed;
    std::string sentence;
    std::uint16_t version = kProtocolVersion; // of the answer: a client of another version must be able to read it
};

// A message that lies in a buffer.
struct ClientMessage {
    MessageHead head;
    std::span<std::byte const> body;

    std::size_t bytes() const { return sizeof head + body.size(); }
};

// The message at the beginning of `bytes`. Neither message nor problem means that it is not complete yet.
struct Framed {
    std::optional<ClientMessage> message;
    std::optional<Problem> problem;
};
Framed frame(std::span<std::byte const> bytes);

// Take, Get and one range of a Clear in one type. Members that a message does not have keep their defaults.
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
    RangeSeal seal = {};                    // for a Clear: the seal of its key
    std::vector<RangeSeal> more_seals = {}; // for a Take: those of further ranges
    // Times of the server's clock.
    std::uint64_t arrived_ns = 0;
    std::uint64_t deadline_ns = 0;

    std::uint64_t end() const { return first + count; }
};
// They expect a message whose length fits its type: frame() has checked it.
Request request_of(ClientMessage const& message); // of a Clear: its first range
std::vector<Request> clears_of(ClientMessage const& message);
std::optional<Problem> problem_of_range(Request const& request);

// Takes equally long for a right and a wrong token.
bool same_token(std::span<std::byte const> given, std::string const& wanted);

} // namespace thalweg::readout
