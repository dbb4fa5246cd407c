// Checksums of what a finished file has beside pages, envelopes and anchors, which have their own: the container.
#pragma once

#include <cstdint>

#include "thalweg/format/rntuple/container/tfile.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format::rntuple {

// Lies in the text 'thalweg', which has a checksum itself.
struct FileSeal {
    std::uint64_t skeleton_bytes = 0; // 0: the file has no seal, as those of the first version
    std::uint64_t skeleton = 0;       // base::xxh3 of the skeleton behind its first sector, with zeros for anchors
    std::uint64_t ending = 0;         // of the first sector and what was appended, with zeros for the text
};

FileSeal make_seal(Skeleton const& skeleton, EndingBytes const& ending, NamedText const& text);

// Throws base::DataError where the container is not what was sealed.
void check_seal(storage::Storage const& file, FileSeal const& seal);

} // namespace thalweg::format::rntuple
