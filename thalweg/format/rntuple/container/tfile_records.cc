#include "thalweg/format/rntuple/container/tfile_records.h"

#include <algorithm>
#include <chrono>

#include "thalweg/base/assert.h"
#include "thalweg/base/units.h"
#include "thalweg/codec/root_codec.h"
#include "thalweg/format/rntuple/container/tfile.h"

namespace thalweg::format::rntuple {
namespace {

constexpr std::uint32_t kWideFile = 1'000'000; // added to the versions of the 64-bit forms
constexpr std::uint32_t kRootVersion = 63'600;
constexpr std::uint16_t kKeyVersion = 4;
constexpr std::uint16_t kDirectoryVersion = 5;
constexpr std::uint16_t kUuidVersion = 1;
constexpr std::size_t kSmallestKey = 26 + 3;            // of the 32-bit form, without names
constexpr std::uint64_t kOffsetMask = 0xffff'ffff'ffff; // the upper bits of fSeekPdir are of no interest here

std::uint64_t take_offset(BigTaker& from, bool wide) {
    return wide ? from.take<std::uint64_t>() : from.take<std::uint32_t>();
}

std::size_t size_of_string(std::string_view text) { return text.size() + (text.size() < 255 ? 1 : 5); }

void put_uuid(BigPutter& to, Uuid const& uuid) {
    to.put<std::uint16_t>(kUuidVersion);
    to.put_bytes(uuid);
}

Uuid take_uuid(BigTaker& from) {
    from.skip(2);
    Uuid uuid{};
    std::ranges::copy(from.take_bytes(sizeof uuid), uuid.begin());
    return uuid;
}

} // namespace

void put_string(BigPutter& to, std::string_view text) {
    to.put<std::uint8_t>(static_cast<std::uint8_t>(std::min<std::size_t>(text.size(), 255)));
    if (text.size() >= 255) to.put<std::uint32_t>(static_cast<std::uint32_t>(text.size()));
    to.put_text(text);
}

std::string take_string(BigTaker& from) {
    std::uint32_t const length = from.take<std::uint8_t>();
    return from.take_text(length < 255 ? length : from.take<std::uint32_t>());
}

std::uint32_t packed_date(std::uint64_t seconds) {
    using namespace std::chrono;
    sys_seconds const time{std::chrono::seconds(std::min<std::uint64_t>(seconds, 0xffff'ffff))};
    auto const day = floor<days>(time);
    year_month_day const date{day};
    hh_mm_ss const clock{time - day};
    auto const years = static_cast<unsigned>(std::clamp(int{date.year()} - 1995, 0, 63));
    return years << 26 | unsigned{date.month()} << 22 | unsigned{date.day()} << 17 |
           static_cast<unsigned>(clock.hours().count()) << 12 | static_cast<unsigned>(clock.minutes().count()) << 6 |
           static_cast<unsigned>(clock.seconds().count());
}

void put(BigPutter& to, FileHead const& head) {
    auto const begin = to.size();
    to.put_text("root");
    to.put<std::uint32_t>(kWideFile + kRootVersion);
    to.put<std::uint32_t>(head.begin);
    to.put<std::uint64_t>(head.end);
    to.put<std::uint64_t>(head.free_offset);
    to.put<std::uint32_t>(head.free_bytes);
    to.put<std::uint32_t>(1); // entries of the free list
    to.put<std::uint32_t>(head.name_bytes);
    to.put<std::uint8_t>(8);  // bytes of an offset
    to.put<std::uint32_t>(0); // compression
    to.put<std::uint64_t>(head.streamers_offset);
    to.put<std::uint32_t>(head.streamers_bytes);
    put_uuid(to, head.uuid);
    to.put_zeros(begin + kBegin - to.size());
}

FileHead take_file_head(BigTaker& from) {
    if (from.take_text(4) != "root") from.fail("it does not begin with 'root'");
    FileHead head;
    bool const wide = from.take<std::uint32_t>() >= kWideFile;
    head.begin = from.take<std::uint32_t>();
    head.end = take_offset(from, wide);
    head.free_offset = take_offset(from, wide);
    head.free_bytes = from.take<std::uint32_t>();
    from.skip(4);
    head.name_bytes = from.take<std::uint32_t>();
    from.skip(1 + 4);
    head.streamers_offset = take_offset(from, wide);
    head.streamers_bytes = from.take<std::uint32_t>();
    head.uuid = take_uuid(from);
    return head;
}

std::size_t size_of(KeyHead const& key) {
    return 34 + size_of_string(key.class_name) + size_of_string(key.name) + size_of_string(key.title);
}

void put(BigPutter& to, KeyHead const& key) {
    to.put<std::uint32_t>(key.record_bytes);
    to.put<std::uint16_t>(kWide + kKeyVersion);
    to.put<std::uint32_t>(key.object_bytes);
    to.put<std::uint32_t>(key.date);
    to.put<std::uint16_t>(key.key_bytes);
    to.put<std::uint16_t>(key.cycle);
    to.put<std::uint64_t>(key.offset);
    to.put<std::uint64_t>(key.directory);
    put_string(to, key.class_name);
    put_string(to, key.name);
    put_string(to, key.title);
}

KeyHead take_key(BigTaker& from) {
    auto const begin = from.position();
    KeyHead key;
    key.record_bytes = from.take<std::uint32_t>();
    bool const wide = from.take<std::uint16_t>() > kWide;
    key.object_bytes = from.take<std::uint32_t>();
    key.date = from.take<std::uint32_t>();
    key.key_bytes = from.take<std::uint16_t>();
    key.cycle = from.take<std::uint16_t>();
    key.offset = take_offset(from, wide);
    key.directory = take_offset(from, wide) & kOffsetMask;
    key.class_name = take_string(from);
    key.name = take_string(from);
    key.title = take_string(from);
    // What a power cut or a bad block has made zeros must not pass for a key that is none of those that are looked for.
    bool const has_zeros = (key.class_name + key.name).find('\0') != std::string::npos;
    // Lists of ROOT 5 call directories TDirectoryFile, and count the bytes of TDirectory, as which they are stored.
    std::size_t const not_counted = key.class_name == "TDirectoryFile" ? 4 : 0;
    auto const bytes = from.position() - begin;
    if (has_zeros || (bytes != key.key_bytes && bytes != key.key_bytes + not_counted))
        from.fail("the head of a key is damaged");
    return key;
}

std::vector<KeyHead> take_key_list(BigTaker& from) {
    auto const count = from.take<std::uint32_t>();
    if (count > from.left() / kSmallestKey) {
        from.fail("a list of " + std::to_string(count) + " keys does not fit into " + std::to_string(from.left()) +
                  " bytes");
    }
    std::vector<KeyHead> keys;
    for (std::uint32_t i = 0; i < count; ++i) keys.push_back(take_key(from));
    return keys;
}

void put(BigPutter& to, DirectoryRecord const& directory) {
    to.put<std::uint16_t>(kWide + kDirectoryVersion);
    to.put<std::uint32_t>(directory.created);
    to.put<std::uint32_t>(directory.modified);
    to.put<std::uint32_t>(directory.keys_bytes);
    to.put<std::uint32_t>(directory.name_bytes);
    to.put<std::uint64_t>(directory.offset);
    to.put<std::uint64_t>(directory.parent);
    to.put<std::uint64_t>(directory.keys_offset);
    put_uuid(to, directory.uuid);
}

DirectoryRecord take_directory(BigTaker& from) {
    DirectoryRecord directory;
    auto const version = from.take<std::uint16_t>();
    bool const wide = version > kWide;
    directory.created = from.take<std::uint32_t>();
    directory.modified = from.take<std::uint32_t>();
    directory.keys_bytes = from.take<std::uint32_t>();
    directory.name_bytes = from.take<std::uint32_t>();
    directory.offset = take_offset(from, wide);
    directory.parent = take_offset(from, wide);
    directory.keys_offset = take_offset(from, wide);
    if (version % kWide > 2) directory.uuid = take_uuid(from); // older ones have none, or another form of it
    return directory;
}

KeyHead KeyWriter::append(KeyHead key, std::span<std::byte const> payload) {
    return append(std::move(key), payload, payload.size());
}

KeyHead KeyWriter::append_text(KeyHead key, std::string_view text) {
    auto const object = text_object(text);
    return append(std::move(key), codec::compress_root_metadata(object, kTextTailBytes), object.size());
}

KeyHead KeyWriter::append(KeyHead key, std::span<std::byte const> payload, std::size_t object_bytes) {
    auto const key_bytes = size_of(key);
    if (key_bytes + object_bytes > kMaxRecordBytes) {
        base::fail_usage({"'" + key.name + "' has " + std::to_string(object_bytes) + " bytes",
                          "ROOT holds at most " + std::to_string(kMaxRecordBytes) + " under one key"});
    }
    key.date = date_;
    key.offset = end();
    key.key_bytes = static_cast<std::uint16_t>(key_bytes);
    key.record_bytes = static_cast<std::uint32_t>(key_bytes + payload.size());
    key.object_bytes = static_cast<std::uint32_t>(object_bytes);
    put(bytes_, key);
    bytes_.put_bytes(payload);
    THALWEG_ASSERT(end() == key.offset + key.record_bytes, "a key has as many bytes as its head says");
    return key;
}

void KeyWriter::append_padding(std::uint64_t bytes) {
    if (bytes == 0) return;
    append({.class_name = "RBlob"}, std::vector<std::byte>(bytes - kBlobHeadBytes));
}

KeyHead KeyWriter::append_key_list(KeyHead const& owner, std::vector<KeyHead> const& keys) {
    BigPutter list;
    list.put<std::uint32_t>(static_cast<std::uint32_t>(keys.size()));
    for (auto const& key : keys) put(list, key);
    return append({.class_name = owner.class_name, .name = owner.name, .title = owner.title, .directory = owner.offset},
                  list.bytes());
}

KeyHead KeyWriter::append_free_list(KeyHead const& root) {
    constexpr std::uint64_t kStep = 1'000'000'000; // as ROOT counts, which begins with two of them
    KeyHead const key{.class_name = root.class_name, .name = root.name, .title = root.title};
    auto const first = end() + size_of(key) + kFreeBytes;
    BigPutter list;
    list.put<std::uint16_t>(kWide + kFreeVersion);
    list.put<std::uint64_t>(first);
    list.put<std::uint64_t>(std::max(2 * kStep, base::round_up(first + 1, kStep)));
    return append(key, list.bytes());
}

std::vector<std::byte> text_object(std::string_view text) {
    BigPutter object;
    object.put<std::uint32_t>(0);
    object.put<std::uint16_t>(1); // version of TObjString
    object.put<std::uint16_t>(1); // of TObject, with id and bits: on the heap, not deleted
    object.put<std::uint32_t>(0);
    object.put<std::uint32_t>(0x0300'0000);
    put_string(object, text);
    object.put_at<std::uint32_t>(0, static_cast<std::uint32_t>(0x4000'0000 | (object.size() - 4)));
    return object.release();
}

} // namespace thalweg::format::rntuple
