#include <algorithm>
#include <array>
#include <functional>

#include "thalweg/base/error.h"
#include "thalweg/format/rntuple/container/tfile.h"
#include "thalweg/format/rntuple/container/tfile_records.h"

namespace thalweg::format::rntuple {
namespace {

// From `offset` to the end of the skeleton.
BigTaker taker_at(std::span<std::byte const> skeleton, std::uint64_t offset) {
    if (offset > skeleton.size()) base::fail_data({"the beginning of the file", "it is no skeleton of Thalweg's"});
    return {skeleton.subspan(offset), "the beginning of the file", offset};
}

std::array<std::uint64_t, 3> places_in(std::span<std::byte const> first_sector) {
    auto from = taker_at(first_sector, 0);
    auto const head = take_file_head(from);
    from = taker_at(first_sector, std::uint64_t{head.begin} + head.name_bytes);
    return {head.end, head.free_offset, take_directory(from).keys_offset};
}

} // namespace

bool has_place_of(std::span<std::byte const> first_sector, std::span<std::byte const> skeleton) {
    auto const found = places_in(first_sector), begun = places_in(skeleton);
    return std::ranges::mismatch(found, begun, std::ranges::not_equal_to()).in1 != found.end();
}

EndingBytes make_ending(std::span<std::byte const> skeleton, NamedText const& text, std::uint64_t offset,
                        std::uint64_t seconds) {
    auto from = taker_at(skeleton, 0);
    auto head = take_file_head(from);
    from = taker_at(skeleton, head.begin);
    auto const root = take_key(from);
    auto const record_offset = std::uint64_t{head.begin} + head.name_bytes;
    if (head.begin != kBegin || record_offset + kDirectoryBytes > kSectorBytes || skeleton.size() < kSectorBytes) {
        from.fail("head and root directory are not in the first sector");
    }
    from = taker_at(skeleton, record_offset);
    auto record = take_directory(from);
    from = taker_at(skeleton, record.keys_offset);
    take_key(from);
    auto keys = take_key_list(from);

    auto const old = std::ranges::find(keys, text.name, &KeyHead::name);
    if (old == keys.end()) from.fail("it has no '" + text.name + "'");
    KeyWriter writer(offset, seconds);
    ++old->cycle; // the old one stays in the file, and a reader of all keys must know which is the newer
    *old = writer.append_text(*old, text.text);
    auto const list = writer.append_key_list(root, keys);
    record.modified = writer.date();
    record.keys_offset = list.offset;
    record.keys_bytes = list.record_bytes;
    auto const free = writer.append_free_list(root);
    head.end = writer.end();
    head.free_offset = free.offset;
    head.free_bytes = free.record_bytes;

    EndingBytes ending{.appended = writer.bytes().release(), .first_sector = {}, .file_bytes = head.end};
    BigPutter sector;
    put(sector, head);
    sector.put_bytes(skeleton.subspan(sector.size(), record_offset - sector.size()));
    put(sector, record);
    sector.put_bytes(skeleton.subspan(sector.size(), kSectorBytes - sector.size()));
    ending.first_sector = sector.release();
    return ending;
}

} // namespace thalweg::format::rntuple
