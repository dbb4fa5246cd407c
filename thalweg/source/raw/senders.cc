#include "thalweg/source/raw/senders.h"

#include <cstring>
#include <netinet/in.h>

namespace thalweg::source::raw {
namespace {

bool has_port(std::string const& text) {
    auto const colon = text.rfind(':');
    return colon != text.npos && (text.find(':') == colon || text[colon - 1] == ']');
}

} // namespace

Senders::Senders(std::string const& peer) : is_given_(!peer.empty()) {
    if (!is_given_) return;
    with_port_ = has_port(peer);
    known_ = transport::parse_address(with_port_ ? peer : peer + ":0");
}

bool Senders::same(sockaddr_storage const& sender) const {
    auto const& known = known_->storage;
    if (sender.ss_family != known.ss_family) return false;
    if (sender.ss_family == AF_INET) {
        auto const& theirs = reinterpret_cast<sockaddr_in const&>(sender);
        auto const& ours = reinterpret_cast<sockaddr_in const&>(known);
        return theirs.sin_addr.s_addr == ours.sin_addr.s_addr && (!with_port_ || theirs.sin_port == ours.sin_port);
    }
    auto const& theirs = reinterpret_cast<sockaddr_in6 const&>(sender);
    auto const& ours = reinterpret_cast<sockaddr_in6 const&>(known);
    return std::memcmp(&theirs.sin6_addr, &ours.sin6_addr, sizeof ours.sin6_addr) == 0 &&
           (!with_port_ || theirs.sin6_port == ours.sin6_port);
}

Senders::Sender Senders::of(sockaddr_storage const& sender) {
    if (!known_) {
        auto const is_v4 = sender.ss_family == AF_INET;
        known_ = transport::Address{.storage = sender,
                                    .size_bytes =
                                        static_cast<socklen_t>(is_v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6))};
    }
    if (same(sender)) return Sender::instrument;
    return is_given_ ? Sender::stranger : Sender::other;
}

} // namespace thalweg::source::raw
