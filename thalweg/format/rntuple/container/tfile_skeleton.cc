#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/codec/root_codec.h"
#include "thalweg/format/rntuple/container/tfile.h"
#include "thalweg/format/rntuple/container/tfile_records.h"
#include "thalweg/format/rntuple/container/tfile_streamers.h"
#include "thalweg/format/rntuple/envelopes/envelopes.h"

namespace thalweg::format::rntuple {
namespace {

// Twice in the first sector, which also holds head and root directory.
constexpr std::size_t kMaxFileNameBytes = 150;
static_assert(kBegin + 34 + 6 + 1 + 2 * (kMaxFileNameBytes + 1 + 1) + kDirectoryBytes <= kSectorBytes);

// A key's head has a size of 15 bits; the whole description is in the header envelope anyway.
constexpr std::size_t kMaxNameBytes = 30'000;
constexpr std::size_t kMaxTitleBytes = 1'000;
static_assert(34 + 20 + (kMaxNameBytes + 5) + (kMaxTitleBytes + 5) < 1 << 15);

std::string cut(std::string text, std::size_t bytes) {
    if (text.size() > bytes) {
        while (bytes > 0 && (text[bytes] & 0xc0) == 0x80) --bytes; // never within a character of UTF-8
        text.resize(bytes);
    }
    return text;
}

// Version 8 of RFC 9562: made by a rule of one's own.
Uuid make_uuid(std::string const& seed, std::string const& path) {
    BigPutter bits;
    for (auto const* half : {"/0/", "/1/"}) {
        auto const text = seed + half + path;
        bits.put<std::uint64_t>(base::xxh3(std::as_bytes(std::span(text))));
    }
    Uuid uuid{};
    std::ranges::copy(bits.bytes(), uuid.begin());
    uuid[6] = (uuid[6] & std::byte{0x0f}) | std::byte{0x80};
    uuid[8] = (uuid[8] & std::byte{0x3f}) | std::byte{0x80};
    return uuid;
}

// "a/b/c": folder "a/b", name "c".
std::pair<std::string, std::string> split_path(std::string const& path) {
    auto const slash = path.rfind('/');
    if (slash == std::string::npos) return {"", path};
    return {path.substr(0, slash), path.substr(slash + 1)};
}

[[noreturn]] void refuse(std::string const& path, std::string const& why) {
    base::fail_usage({"'" + path + "' cannot be a name in a .root file", why});
}

void check_name(std::string const& path) {
    auto const [folder, name] = split_path(path);
    if (name.empty()) refuse(path, "a part of it is empty");
    if (name == "." || name == "..") refuse(path, "ROOT takes '" + name + "' for another directory");
    if (name.size() > kMaxNameBytes) refuse(cut(path, 40) + "...", "it has " + std::to_string(name.size()) + " bytes");
    if (folder.size() > kMaxFolderBytes) refuse(cut(path, 40) + "...", "its directories' names are too long");
    for (auto const character : name) {
        if (character == ';') refuse(path, "what follows ';' is taken for the number of a version");
        if (static_cast<unsigned char>(character) < ' ' || character == 0x7f)
            refuse(path, "it has a control character");
    }
    if (name.size() < path.size()) check_name(folder);
}

void check_names(std::vector<TableSkeleton> const& tables, NamedText const& text) {
    std::set<std::string> names;
    std::set<std::string> folders;
    auto const add = [&](std::string const& path) {
        check_name(path);
        if (!names.insert(path).second) refuse(path, "it is there twice");
        for (auto folder = split_path(path).first; !folder.empty(); folder = split_path(folder).first)
            folders.insert(folder);
    };
    for (auto const& table : tables) add(table.name);
    add(text.name);
    for (auto const& name : names)
        if (folders.contains(name)) refuse(name, "it is the name of a directory, too");
}

class SkeletonWriter {
  public:
    SkeletonWriter(std::string const& file_name, std::string seed, std::uint64_t seconds)
        : seed_(std::move(seed)), keys_(0, seconds) {
        put(keys_.bytes(), FileHead{}); // its place; written again in finish()
        add_folder("", {.class_name = "TFile", .name = cut(file_name, kMaxFileNameBytes), .directory = 0});
        KeyHead const streamers{.class_name = "TList", .name = "StreamerInfo", .title = "Doubly linked list"};
        streamers_ = keys_.append(streamers, streamer_info(size_of(streamers)));
    }

    void add(TableSkeleton const& table) {
        auto const [path, name] = split_path(table.name);
        auto const folder = folder_of(path);
        auto const stored = codec::compress_root_metadata(table.header);
        auto const header = keys_.append({.class_name = "RBlob"}, stored);
        KeyHead const anchor{.class_name = "ROOT::RNTuple",
                             .name = name,
                             .title = cut(table.description, kMaxTitleBytes),
                             .directory = folders_[folder].record.offset};
        keep_in_sector(keys_.end() + size_of(anchor), kAnchorBytes);
        auto const key = keys_.append(anchor, std::array<std::byte, kAnchorBytes>{});
        folders_[folder].keys.push_back(key);
        places_.push_back({.header_offset = header.offset + header.key_bytes,
                           .header_stored_bytes = stored.size(),
                           .header_bytes = table.header.size(),
                           .anchor_offset = key.offset + key.key_bytes});
    }

    void add(NamedText const& text) {
        auto const [path, name] = split_path(text.name);
        auto const folder = folder_of(path);
        folders_[folder].keys.push_back(keys_.append_text({.class_name = "TObjString",
                                                           .name = name,
                                                           .title = "Collectable string class",
                                                           .directory = folders_[folder].record.offset},
                                                          text.text));
    }

    Skeleton finish() {
        for (auto& folder : folders_) {
            auto const list = keys_.append_key_list(folder.key, folder.keys);
            folder.record.keys_offset = list.offset;
            folder.record.keys_bytes = list.record_bytes;
        }
        auto const& root = folders_.front();
        auto const free_bytes = size_of({.class_name = root.key.class_name, .name = root.key.name}) + kFreeBytes;
        auto gap = base::round_up(keys_.end() + free_bytes, base::kBlockBytes) - free_bytes - keys_.end();
        if (gap != 0 && gap < kBlobHeadBytes) gap += base::kBlockBytes;
        keys_.append_padding(gap);
        auto const free = keys_.append_free_list(root.key);
        FileHead const head{.end = keys_.end(),
                            .free_offset = free.offset,
                            .free_bytes = free.record_bytes,
                            .name_bytes = root.record.name_bytes,
                            .streamers_offset = streamers_.offset,
                            .streamers_bytes = streamers_.record_bytes,
                            .uuid = root.record.uuid};

        Skeleton skeleton{.bytes = keys_.bytes().release(), .tables = std::move(places_)};
        auto const put_at = [&](std::uint64_t offset, auto const& what) {
            BigPutter bytes;
            put(bytes, what);
            std::ranges::copy(bytes.bytes(), skeleton.bytes.begin() + static_cast<std::ptrdiff_t>(offset));
        };
        put_at(0, head);
        for (auto const& folder : folders_) put_at(folder.record.offset + folder.record.name_bytes, folder.record);
        return skeleton;
    }

  private:
    struct Folder {
        std::string path;
        KeyHead key;
        DirectoryRecord record;
        std::vector<KeyHead> keys;
    };

    // The index of a folder, which is made where it is missing.
    std::size_t folder_of(std::string const& path) {
        for (std::size_t i = 0; i < folders_.size(); ++i)
            if (folders_[i].path == path) return i;
        auto const [parent_path, name] = split_path(path);
        auto const parent = folder_of(parent_path);
        add_folder(path, {.class_name = "TDirectory",
                          .name = name,
                          .title = cut(name, kMaxTitleBytes),
                          .directory = folders_[parent].record.offset});
        folders_[parent].keys.push_back(folders_.back().key);
        return folders_.size() - 1;
    }

    void add_folder(std::string const& path, KeyHead const& key) {
        BigPutter payload;
        if (path.empty()) { // the file's own object begins with its name and title
            put_string(payload, key.name);
            put_string(payload, key.title);
        }
        DirectoryRecord const record{.created = keys_.date(),
                                     .modified = keys_.date(),
                                     .name_bytes = static_cast<std::uint32_t>(size_of(key) + payload.size()),
                                     .offset = keys_.end(),
                                     .parent = key.directory,
                                     .uuid = make_uuid(seed_, path)};
        payload.put_zeros(kDirectoryBytes); // written in finish()
        folders_.push_back({.path = path, .key = keys_.append(key, payload.bytes()), .record = record, .keys = {}});
    }

    // Padding, where `bytes` at `offset` would lie in two sectors.
    void keep_in_sector(std::uint64_t offset, std::uint64_t bytes) {
        if (offset % kSectorBytes <= kSectorBytes - bytes) return;
        keys_.append_padding(std::max(base::round_up(offset, kSectorBytes) - offset, std::uint64_t{kBlobHeadBytes}));
    }

    std::string seed_;
    KeyWriter keys_;
    KeyHead streamers_;
    std::vector<Folder> folders_; // parents in front of their children; the root directory is the first
    std::vector<TablePlace> places_;
};

} // namespace

Skeleton make_skeleton(std::string const& file_name, std::vector<TableSkeleton> const& tables, NamedText const& text,
                       std::string const& seed, std::uint64_t seconds) {
    check_names(tables, text);
    SkeletonWriter writer(file_name, seed, seconds);
    for (auto const& table : tables) writer.add(table);
    writer.add(text);
    return writer.finish();
}

} // namespace thalweg::format::rntuple
