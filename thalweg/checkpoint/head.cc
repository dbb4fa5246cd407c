#include "thalweg/checkpoint/head.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <exception>
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
constexpr std::size_t kHeadChecksumOffset = base::kBlockBytes - sizeof(std::uint64_t);
constexpr std::size_t kSuperblockBytes = 48; // of version 3, with its checksum

std::uint64_t checksum_of(RecordPlace const& place) {
    return base::xxh3(std::as_bytes(std::span(&place, 1)).first(offsetof(RecordPlace, place_checksum)));
}

std::uint64_t checksum_of_head(storage::Storage const& file) {
    std::array<std::byte, kHeadChecksumOffset> head;
    file.read(0, head);
    return base::xxh3(head);
}

std::optional<RecordPlace> sound_place(storage::Storage const& file) {
    RecordPlace place;
    if (file.size() < kPlaceOffset + sizeof place) return std::nullopt;
    file.read(kPlaceOffset, std::as_writable_bytes(std::span(&place, 1)));
    if (place.place_checksum != checksum_of(place)) return std::nullopt;
    return place;
}

bool is_there(storage::Storage const& file, Checked const& checked) {
    auto const size = file.size();
    if (checked.offset > size || checked.size_bytes > size - checked.offset) return false;
    std::vector<std::byte> bytes(checked.size_bytes);
    try {
        file.read(checked.offset, bytes);
    } catch (base::SystemError const&) { // the device cannot read it
        return false;
    }
    return base::xxh3(bytes) == checked.checksum;
}

using FirstBytes = std::vector<std::uint8_t>;

std::optional<FirstBytes> first_bytes(storage::Storage const& file) {
    FirstBytes bytes(std::min<std::uint64_t>(file.size(), kSuperblockBytes));
    file.read(0, std::as_writable_bytes(std::span(bytes)));
    return bytes;
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

void seal_head(storage::Storage& file) {
    auto const checksum = checksum_of_head(file);
    file.write(kHeadChecksumOffset, std::as_bytes(std::span(&checksum, 1)));
}

void check_head(storage::Storage const& file) {
    std::uint64_t sealed = 0;
    if (file.size() >= base::kBlockBytes) {
        file.read(kHeadChecksumOffset, std::as_writable_bytes(std::span(&sealed, 1)));
        if (sealed == checksum_of_head(file)) return;
    }
    base::fail_data({file.path() + " is damaged",
                     fmt::format("its first {} bytes, which have the superblock of HDF5, are not as they were written",
                                 base::kBlockBytes)});
}

bool is_checkpoint(storage::Storage const& file) { return id_of(file) || sound_place(file); }

Signs signs_of(storage::Storage const& file) {
    return {id_of(file).value(), first_bytes(file).value(), sound_place(file).value()};
}

// Superblocks of checkpoints with arrays of the same shapes are equal: they count only if nothing says more.
bool has_signs(storage::Storage const& file, Signs const& signs) {
    std::exception_ptr unread; // where the device cannot read one sign, another one may be there
    auto const look = [&]<class T>(std::optional<T> (*find)(storage::Storage const&)) -> std::optional<T> {
        try {
            return find(file);
        } catch (base::SystemError const&) {
            unread = std::current_exception();
            return std::nullopt;
        }
    };
    auto const id = look(id_of);
    if (id == signs.id) return true;
    auto const place = look(sound_place);
    if (place) return place->place_checksum == signs.place.place_checksum;
    if (is_there(file, signs.place.record)) return true;
    if (id) return false;
    auto const first = look(first_bytes);
    if (first) return std::ranges::equal(*first, std::span(signs.superblock).first(first->size()));
    std::rethrow_exception(unread);
}

RecordPlace place_of(storage::Storage const& file) {
    if (auto const place = sound_place(file)) return *place;
    base::fail_data({file.path() + " is damaged",
                     fmt::format("the place of its record, at offset {}, is not as it was written", kPlaceOffset)});
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
