#include "thalweg/readout/client/client_token.h"

#include <fmt/format.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/readout/client/client_state.h"
#include "thalweg/readout/token_file.h"

namespace thalweg::readout {

bool ClientToken::read_again() {
    auto token = token_in(path_);
    if (token.empty() || token.size() > kMaxTokenBytes || token == now_) return false;
    auto last = std::exchange(now_, std::move(token));
    if (std::exchange(now_was_accepted_, false) || !has_changed()) before_ = std::move(last);
    return true;
}

std::vector<std::byte> Client::State::hello_with(std::string const& its_token) const {
    std::vector<std::byte> hello;
    Hello const head{options.role, static_cast<std::uint32_t>(its_token.size()), {client_id[0], client_id[1]}};
    for (auto const part : {std::as_bytes(std::span(&head, 1)), std::as_bytes(std::span(its_token))})
        hello.insert(hello.end(), part.begin(), part.end());
    return hello;
}

// Handles the refusal of a handler that has welcomed this client before, or that may know a newer token. Returns false
// if the token was wrong from the beginning, or for too long.
bool Client::State::tries_another_token(HandlerConnection& connection, std::string const& why) {
    if (token.path().empty()) return false;
    auto& handler = handlers[connection.handler];
    counters.tokens_read += token.read_again() ? 1 : 0;
    if (handler.welcome.instance == 0 && !token.has_changed()) return false;
    auto const now = base::monotonic_ns();
    if (handler.refused_since_ns == 0) handler.refused_since_ns = now;
    if (now - handler.refused_since_ns > options.token_ns) return false;
    connection.token = token.instead_of(connection.token);
    connection.link.fail(fmt::format("{}; {} is read again and again", why, token.path()));
    return true;
}

} // namespace thalweg::readout
