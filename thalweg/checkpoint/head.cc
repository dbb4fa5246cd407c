#include "thalweg/checkpoint/head.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>
#include <string_view>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/format/hdf5/ours/header.h"

namespace thalweg::checkpoint {
namespace {

constexpr std::size_t kPlaceOffset = 3072;
using format::hdf5::ours::kMarkOffset;
constexpr std::string_view kMark = format::hdf5::ours::kCheckpointMark;
constexpr std::size_t kMostIdBytes = 64;

std::uint64_t checksum_of(RecordPlace const& place) {
    return base::xxh3(std::as_bytes(std::span(&place, 1)).first(offsetof(RecordPlace, place_checksum)));
}

} // namespace

std::vector<std::byte> head_block(std::string const& id, RecordPlace place) {
    std::vector<std::byte> block(base::kBlockBytes);
    std::memcpy(block.data() + kMarkOffset, kMark.data(), kMark.size());
    std::memcpy(block.data() + kMarkOffset + kMark.size(), id.data(), std::min(id.size(), kMostIdBytes));
    place.place_checksum = checksum_of(place);
    std::memcpy(block.data() + kPlaceOffset, &place, sizeof place);
    return block;
}

std::optional<std::string> id_of(storage::Storage const& file) {
    if (file.size() < base::kBlockBytes) return std::nullopt;
    std::array<char, kMark.size() + kMostIdBytes> mark{};
    file.read(kMarkOffset, std::as_writable_bytes(std::span(mark)));
    std::string_view const text(mark.data(), mark.size());
    if (!text.starts_with(kMark)) return std::nullopt;
    auto const id = text.substr(kMark.size());
    return std::string(id.substr(0, id.find('\0')));
}

std::optional<std::string> id_of_file(std::string const& path) {
    return id_of(*storage::open_file_storage(path, storage::OpenMode::read_only));
}

RecordPlace place_of(storage::Storage const& file) {
    RecordPlace place;
    file.read(kPlaceOffset, std::as_writable_bytes(std::span(&place, 1)));
    if (place.place_checksum != checksum_of(place)) {
        base::fail_data({file.path() + " is damaged", fmt::format("the place of its record, at offset {}, is not as it "
                                                                  "was written",
                                                                  kPlaceOffset)});
    }
    return place;
}

std::vector<std::byte> read_checked(storage::Storage const& file, Checked const& place, char const* what) {
    auto const size = file.size();
    if (place.offset > size || place.size_bytes > size - place.offset) {
        base::fail_data(
            {file.path() + " is damaged", fmt::format("{} were {} bytes at offset {}, and the file has {} bytes", what,
                                                      place.size_bytes, place.offset, size)});
    }
    std::vector<std::byte> bytes(place.size_bytes);
    file.read(place.offset, bytes);
    if (base::xxh3(bytes) != place.checksum) {
        base::fail_data({file.path() + " is damaged",
                         fmt::format("{}, at offset {}, are not as they were written", what, place.offset)});
    }
    return bytes;
}

} // namespace thalweg::checkpoint
