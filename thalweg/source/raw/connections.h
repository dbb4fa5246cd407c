// Gives the connections of a stream, one after the other: a file is one that comes once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/shared_number.h"
#include "thalweg/source/raw/input_address.h"

namespace thalweg::source::raw {

class Connections {
  public:
    virtual ~Connections() = default;

    // Returns the next connection; an empty descriptor if none has come by `deadline_ns` of base::monotonic_ns().
    virtual base::FileDescriptor next(std::uint64_t deadline_ns) = 0;
    // Treats other connections that have come while one is read: one that listens closes them. Returns their number.
    virtual std::uint64_t refuse_others() { return 0; }
};

// Opens the file, connects or listens. Throws base::SystemError if that fails.
std::unique_ptr<Connections> open_connections(InputAddress const& address);

} // namespace thalweg::source::raw
