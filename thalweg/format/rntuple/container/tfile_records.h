// The structures of the container as values, and their bytes (docs/formats/tfile.md). Written in the 64-bit form, read
// in both.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/format/rntuple/envelopes/bytes.h"

namespace thalweg::format::rntuple {

inline constexpr std::uint32_t kBegin = 100;       // of the first key, which is the root directory's
inline constexpr std::size_t kDirectoryBytes = 60; // in either form
inline constexpr std::uint16_t kWide = 1000;       // added to versions of the 64-bit form
inline constexpr std::uint16_t kFreeVersion = 1;
inline constexpr std::size_t kFreeBytes = 18;        // of the free list's one entry
inline constexpr std::size_t kSectorBytes = 512;     // what a disk writes as a whole or not at all
inline constexpr std::size_t kMaxFolderBytes = 1024; // of a directory's path: bounds how deep they are nested
inline constexpr std::uint64_t kMaxRecordBytes = std::uint64_t{1} << 30; // ROOT's own limit of a key with its payload

// 255 bytes and more have a longer length in front.
void put_string(BigPutter& to, std::string_view text);
std::string take_string(BigTaker& from);

// "TDatime": to the second, and only for the years 1995 to 2058.
std::uint32_t packed_date(std::uint64_t seconds);

using Uuid = std::array<std::byte, 16>;

struct FileHead {
    std::uint64_t end = 0;
    std::uint64_t free_offset = 0;
    std::uint32_t free_bytes = 0;
    std::uint32_t begin = kBegin;
    std::uint32_t name_bytes = 0;
    std::uint64_t streamers_offset = 0;
    std::uint32_t streamers_bytes = 0;
    Uuid uuid = {};
};
void put(BigPutter& to, FileHead const& head); // kBegin bytes
FileHead take_file_head(BigTaker& from);

struct KeyHead {
    std::string class_name;
    std::string name;
    std::string title;
    std::uint64_t directory = kBegin; // where it is listed
    std::uint16_t cycle = 1;
    // Filled in where a key is given its place.
    std::uint32_t date = 0;
    std::uint64_t offset = 0;
    std::uint16_t key_bytes = 0;
    std::uint32_t record_bytes = 0; // with the payload
    std::uint32_t object_bytes = 0;
};
std::size_t size_of(KeyHead const& key);
void put(BigPutter& to, KeyHead const& key);
KeyHead take_key(BigTaker& from);
std::vector<KeyHead> take_key_list(BigTaker& from); // from behind the list's own key

struct DirectoryRecord {
    std::uint32_t created = 0;
    std::uint32_t modified = 0;
    std::uint32_t keys_bytes = 0;
    std::uint32_t name_bytes = 0;
    std::uint64_t offset = 0;
    std::uint64_t parent = 0;
    std::uint64_t keys_offset = 0;
    Uuid uuid = {};
};
void put(BigPutter& to, DirectoryRecord const& directory); // kDirectoryBytes
DirectoryRecord take_directory(BigTaker& from);

// A text may end with what is known only once its size is: checksums of what surrounds it.
inline constexpr std::size_t kTextTailBytes = 256;

// Keys and their payloads, one behind the other from `origin` in the file on.
class KeyWriter {
  public:
    KeyWriter(std::uint64_t origin, std::uint64_t seconds) : origin_(origin), date_(packed_date(seconds)) {}

    // Gives the key its place.
    KeyHead append(KeyHead key, std::span<std::byte const> payload);
    // Gives the key of a TObjString its place. Its size does not depend on the last kTextTailBytes of the text.
    KeyHead append_text(KeyHead key, std::string_view text);
    // A key of `bytes` in all, at least kBlobHeadBytes (or none), that holds nothing.
    void append_padding(std::uint64_t bytes);
    // The list of a directory's keys; `owner` is the directory's own key.
    KeyHead append_key_list(KeyHead const& owner, std::vector<KeyHead> const& keys);
    // The last key of a file; `root` is the root directory's key.
    KeyHead append_free_list(KeyHead const& root);

    std::uint64_t end() const { return origin_ + bytes_.size(); }
    std::uint32_t date() const { return date_; }
    BigPutter& bytes() { return bytes_; }

  private:
    KeyHead append(KeyHead key, std::span<std::byte const> payload, std::size_t object_bytes);

    std::uint64_t origin_;
    std::uint32_t date_;
    BigPutter bytes_;
};

// The object of a TObjString.
std::vector<std::byte> text_object(std::string_view text);

} // namespace thalweg::format::rntuple
