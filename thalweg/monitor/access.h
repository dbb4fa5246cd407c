// Decides which requests are allowed. Pages are for clients in the configured networks that call this machine by one of
// its own names. Control is for clients that know the token, or can open the Unix socket.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thalweg::monitor {

// Checks the header Host. A web page whose name was made to point to this address (DNS rebinding) looks like the same
// site to its browser, but the browser then sends a name that is not this machine's. An address is always accepted,
// because no name has to be resolved for it. Names are compared without port and without case.
class HostNames {
  public:
    // Accepts `names`, localhost, this machine's own name, and the host of `address` ("daq7:7780").
    HostNames(std::vector<std::string> names, std::string_view address);
    bool contain(std::string_view host) const;

  private:
    std::vector<std::string> names_; // in lower case
};

// Compares the header Authorization with "Bearer TOKEN". Takes equally long for a right and a wrong token.
bool is_bearer_of(std::string_view token, std::string_view authorization);

} // namespace thalweg::monitor
