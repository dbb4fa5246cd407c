// The seam of the simulator for the bytes of files; base/stand_in.h has the one for everything else.
#pragma once

#include "thalweg/storage/probe.h"
#include "thalweg/storage/storage.h"

namespace thalweg::storage {

class StandIn {
  public:
    virtual ~StandIn() = default;
    // As open_file_storage, whatever the engine.
    virtual std::unique_ptr<Storage> open(std::string const& path, OpenMode mode) = 0;
    // Returns the space of the disk on which all files are.
    virtual Space space() = 0;
};

// Null on a real machine. It is set only while there is no other thread.
inline StandIn* stand_in = nullptr;

} // namespace thalweg::storage
