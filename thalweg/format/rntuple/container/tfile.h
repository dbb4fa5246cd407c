// The container: as much of ROOT's TFile as RNTuples need. Keys, directories, the list of streamer infos, free space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/storage/storage.h"

namespace thalweg::format::rntuple {

// -- writing ----------------------------------------------------------------------------------------------------------

// What is known of one RNTuple from the beginning: the texts of its key, and its header envelope.
struct TableSkeleton {
    std::string name; // slashes make directories: "ch0/raw" is the RNTuple "raw" in the TDirectory "ch0"
    std::string description;
    std::vector<std::byte> header;
};

// The places of a table's fixed parts in the file.
struct TablePlace {
    std::uint64_t header_offset = 0; // of the envelope itself
    std::uint64_t header_stored_bytes = 0;
    std::uint64_t header_bytes = 0;
    std::uint64_t anchor_offset = 0; // of its kAnchorBytes; they lie within one sector of 512 bytes
};

struct Skeleton {
    std::vector<std::byte> bytes; // from offset 0 on, a multiple of base::kBlockBytes; the anchors are zeros
    std::vector<TablePlace> tables;
};

// A name, and a string stored under it (class TObjString).
struct NamedText {
    std::string name;
    std::string text;
};

// All of a file that can be known before its first page: header (in the 64-bit form), root directory, streamer infos
// of ROOT::RNTuple, directories, keys of the anchors and header envelopes, key lists, free list. The same arguments
// give the same bytes and places: `seed` (the run's id) gives the UUIDs, `seconds` since 1970 (UTC) the dates.
// Every byte belongs to a key, so that the file can be walked from key to key (padding is in a key of its own).
// Throws base::UsageError for names that ROOT cannot hold.
Skeleton make_skeleton(std::string const& file_name, std::vector<TableSkeleton> const& tables, NamedText const& text,
                       std::string const& seed, std::uint64_t seconds);

// What makes a finished file: the bytes to be appended at `offset` (the end of everything else, a multiple of
// base::kBlockBytes) and the first sector that refers to them. `text` replaces the one of the skeleton.
struct EndingBytes {
    std::vector<std::byte> appended;     // keys of the new text, the root directory's key list and the free list
    std::vector<std::byte> first_sector; // to be written at offset 0, after `appended` is durable
    std::uint64_t file_bytes = 0;        // fEND
};
EndingBytes make_ending(std::span<std::byte const> skeleton, NamedText const& text, std::uint64_t offset,
                        std::uint64_t seconds);

// Whether the first sector of a finished file names a place (its end, free list or key list) that the skeleton names,
// too: all of them change when it is finished, and when another program adds to the file.
bool has_place_of(std::span<std::byte const> first_sector, std::span<std::byte const> skeleton);

// A key of class RBlob, which holds pages or envelopes: kBlobHeadBytes in front of its payload. `blob` is the whole,
// head included, and will lie at `offset`.
inline constexpr std::size_t kBlobHeadBytes = 42;
void write_blob_head(std::span<std::byte> blob, std::uint64_t offset, std::uint64_t seconds);

// -- reading ----------------------------------------------------------------------------------------------------------

struct FileKey {
    std::string path; // directories and name: "ch0/raw"
    std::string class_name;
    std::string title;
    std::uint16_t cycle = 0;
    std::uint64_t offset = 0;       // of the key itself
    std::uint64_t key_bytes = 0;    // its head; the payload follows
    std::uint64_t stored_bytes = 0; // of the payload
    std::uint64_t object_bytes = 0; // of the payload, uncompressed
};

// All keys of all directories, of each name only the highest cycle. Throws base::DataError with offset and reason where
// the file is no ROOT file, or damaged: every count, size and offset is checked against the file's size, and loops of
// directories are found.
std::vector<FileKey> read_keys(storage::Storage const& file);

// Reads the list of free space, which ROOT uses when it changes a file. Throws base::DataError if it is damaged.
void check_free_list(storage::Storage const& file);

// The payload of a key, decompressed where it is compressed.
std::vector<std::byte> read_object(storage::Storage const& file, FileKey const& key);

// Returns the text of a TObjString. Throws base::DataError for anything else.
std::string read_text(storage::Storage const& file, FileKey const& key);

} // namespace thalweg::format::rntuple
