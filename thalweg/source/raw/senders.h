// Tells the datagrams of the instrument from those of strangers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/socket.h>

#include "thalweg/transport/address.h"

namespace thalweg::source::raw {

class Senders {
  public:
    // `peer`: HOST, HOST:PORT, or empty. Without one, the sender of the first datagram is the instrument, and datagrams
    // of others count, too. Throws base::UsageError if it is no address.
    explicit Senders(std::string const& peer);

    enum class Sender : std::uint8_t { instrument, other, stranger }; // strangers are refused
    Sender of(sockaddr_storage const& sender);
    std::string first() const { return known_ ? known_->str() : std::string(); }

  private:
    bool same(sockaddr_storage const& sender) const;

    bool is_given_;
    bool with_port_ = true;
    std::optional<transport::Address> known_;
};

} // namespace thalweg::source::raw
