#include "thalweg/format/hdf5/writer_state.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "thalweg/base/error.h"

namespace thalweg::format::hdf5 {
namespace {

constexpr std::array<unsigned char, 8> kSuperblockSignature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
constexpr std::uint64_t kFirstUserBlockBytes = 512; // it is as long as that, or twice, four times, ... that
// libhdf5 sets and looks at the flags from this version on. Files of version 2 have any bits there.
constexpr std::uint8_t kFirstVersion = 3;

// Part of an HDF5 superblock, from version 2 on.
struct SuperblockHead {
    std::array<unsigned char, 8> signature;
    std::uint8_t version;
    std::uint8_t offset_bytes;
    std::uint8_t length_bytes;
    std::uint8_t flags;
};
static_assert(sizeof(SuperblockHead) == 12);

constexpr std::uint8_t kOpenForWriting = 1;
constexpr std::uint8_t kSwmr = 4;

std::optional<std::uint64_t> superblock_within(std::uint64_t size, storage::Storage const& file) {
    for (std::uint64_t at = 0; at + sizeof(SuperblockHead) <= size; at = std::max(2 * at, kFirstUserBlockBytes)) {
        std::array<unsigned char, kSuperblockSignature.size()> signature;
        file.read(at, std::as_writable_bytes(std::span(signature)));
        if (signature == kSuperblockSignature) return at;
    }
    return std::nullopt;
}

} // namespace

// A run that is being closed is cut to its end in the middle of this, and has its superblock then.
std::optional<std::uint64_t> superblock_offset(storage::Storage const& file) {
    auto size = file.size();
    while (true) {
        try {
            return superblock_within(size, file);
        } catch (base::SystemError const&) {
            auto const now = file.size();
            if (now >= size) throw;
            size = now;
        }
    }
}

OpenMark writer_state(storage::Storage const& file) {
    auto const offset = superblock_offset(file);
    if (!offset) return OpenMark::closed;
    SuperblockHead head;
    file.read(*offset, std::as_writable_bytes(std::span(&head, 1)));
    if (head.version < kFirstVersion || (head.flags & kOpenForWriting) == 0) return OpenMark::closed;
    return (head.flags & kSwmr) != 0 ? OpenMark::swmr : OpenMark::writing;
}

void check_not_written(storage::Storage const& file, OpenMark writer) {
    if (writer != OpenMark::writing) return;
    base::fail_data({file.path() + " is still being written",
                     "another program has it open for writing, or was killed before it could close it: what the file "
                     "holds may be of different moments",
                     "let that program close it; if it is gone, `h5clear -s` removes the mark, and what was not "
                     "written is missing"});
}

std::string note_of(OpenMark writer) {
    if (writer == OpenMark::closed) return "";
    return "another program has the file open for writing (SWMR), or was killed before it could close it, which "
           "`h5clear -s` then does: rows that it adds are seen by opening the file again";
}

} // namespace thalweg::format::hdf5
