// Tells whether an open run is being written, or was left by processes that ended without closing it.
#pragma once

#include <cstdint>
#include <string>

#include "thalweg/dataset/read/reader.h"

namespace thalweg::dataset {

enum class WriterState : std::uint8_t {
    alive,   // a process on this machine writes the run
    ended,   // all processes that wrote it have ended, or the machine was started again since
    gone,    // nothing tells: the file is all there is, a copy that was taken while the run was open, or left alone
    unknown, // other machines or containers may write it, or it was closed since it was opened
};

struct RunWriters {
    WriterState state;
    std::string why; // for unknown
};

// The run of the reader is open. Throws base::Error if the machine does not say.
RunWriters writers_of(Reader const& reader);

} // namespace thalweg::dataset
