// Who may ask. Pages are for those whom the networks of the configuration let in, and who call this machine by a name
// of its own; control is for those who know the token, or may open the Unix socket.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thalweg::monitor {

// Of the header Host. A page of the Web that had its own name point to our address (DNS rebinding) would be the same
// site as we are, for its browser; but the name that the browser then sends is not ours. An address is always ours,
// because no name has to be looked up for it. Names are compared without their port, and without regard to case.
class HostNames {
  public:
    // Besides `names`: localhost, what this machine calls itself, and the host of `address` ("daq7:7780").
    HostNames(std::vector<std::string> names, std::string_view address);
    bool contain(std::string_view host) const;

  private:
    std::vector<std::string> names_; // in lower case
};

// "Bearer TOKEN", of the header Authorization; takes as long for a wrong token as for the right one.
bool is_bearer_of(std::string_view token, std::string_view authorization);

} // namespace thalweg::monitor
