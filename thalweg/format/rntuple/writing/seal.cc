#include "thalweg/format/rntuple/writing/seal.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/format/rntuple/container/tfile_records.h"
#include "thalweg/format/rntuple/envelopes/envelopes.h"
#include "thalweg/format/rntuple/writing/file_parts.h"

namespace thalweg::format::rntuple {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_at(storage::Storage const& file, std::uint64_t begin, std::uint64_t end) {
    if (begin > end || end > file.size()) {
        base::fail_data({file.path() + " is not as it was when it was completed",
                         fmt::format("bytes {} to {} are missing", begin, end), "was it copied as a whole?"});
    }
    Bytes bytes(end - begin);
    file.read(begin, bytes);
    return bytes;
}

std::uint64_t skeleton_checksum(std::span<std::byte const> skeleton) {
    return base::xxh3(skeleton.subspan(kSectorBytes));
}

// `appended` begins with the key of the text, whose payload ends with the characters, or is compressed as a whole.
std::uint64_t ending_checksum(std::span<std::byte const> first_sector, std::span<std::byte const> appended,
                              std::uint64_t characters) {
    BigTaker from(appended, "the ending");
    auto const key = take_key(from);
    bool const is_compressed = key.object_bytes > key.record_bytes - key.key_bytes;
    auto const zeros = is_compressed ? key.record_bytes - key.key_bytes : characters;
    Bytes bytes(first_sector.begin(), first_sector.end());
    bytes.insert(bytes.end(), appended.begin(), appended.end());
    auto const end = std::min<std::uint64_t>(first_sector.size() + key.record_bytes, bytes.size());
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(end - std::min(zeros, end)), std::min(zeros, end),
                std::byte{});
    return base::xxh3(bytes);
}

[[noreturn]] void fail(storage::Storage const& file, std::uint64_t begin, std::uint64_t end) {
    base::fail_data({file.path() + " is not as it was when it was completed",
                     fmt::format("what lies between offsets {} and {} (the container's keys) is damaged, or another "
                                 "program has changed it",
                                 begin, end)});
}

} // namespace

FileSeal make_seal(Skeleton const& skeleton, EndingBytes const& ending, NamedText const& text) {
    return {skeleton.bytes.size(), skeleton_checksum(skeleton.bytes),
            ending_checksum(ending.first_sector, ending.appended, text.text.size())};
}

void check_seal(storage::Storage const& file, FileSeal const& seal) {
    if (seal.skeleton_bytes == 0) return;
    auto skeleton = bytes_at(file, 0, std::max<std::uint64_t>(seal.skeleton_bytes, kSectorBytes));
    std::span const first_sector(skeleton.data(), kSectorBytes);
    BigTaker from(first_sector, file.path());
    auto const end = take_file_head(from).end;
    for (auto const& key : read_keys(file)) {
        auto const payload = key.offset + key.key_bytes;
        if (key.class_name == "ROOT::RNTuple" && payload + kAnchorBytes <= skeleton.size()) {
            std::fill_n(skeleton.begin() + static_cast<std::ptrdiff_t>(payload), kAnchorBytes, std::byte{});
        }
        if (key.path != kTextName) continue;
        auto const characters = read_text(file, key).size();
        auto const appended = bytes_at(file, key.offset, end);
        if (ending_checksum(first_sector, appended, characters) != seal.ending) fail(file, key.offset, end);
    }
    if (skeleton_checksum(skeleton) != seal.skeleton) fail(file, kSectorBytes, seal.skeleton_bytes);
}

} // namespace thalweg::format::rntuple
