// The address of a host that may move: a container that is started again has the same name and another address.
#pragma once

#include <memory>
#include <string>

#include "thalweg/transport/address.h"

namespace thalweg::transport {

// Any thread may use it. Copies share the address.
class MovingAddress {
  public:
    // Looks the name up, and waits for the answer. Throws what parse_address() throws.
    explicit MovingAddress(std::string const& text);

    Address now() const;
    // Begins to look the name up again, unless that is under way or the text has a number instead of a name. It does
    // not wait: a server of names may take seconds to answer, or may be away. Until there is an answer, now() stays.
    void look_up_again();

  private:
    struct State;
    std::shared_ptr<State> state_;
};

} // namespace thalweg::transport
