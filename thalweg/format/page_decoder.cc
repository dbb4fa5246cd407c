#include "thalweg/format/page_decoder.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/format/byte_order.h"
#include "thalweg/format/format.h"
#include "thalweg/trace/activity.h"

namespace thalweg::format {
namespace {

void check(model::Page const& page, std::span<std::byte const> stored, std::uint64_t checksum) {
    if (base::xxh3(stored) == checksum) return;
    base::fail_data({fmt::format("the page at offset {} is damaged", page.offset), "its checksum does not fit"});
}

} // namespace

// Sizes come from the file: one that is damaged may say anything, and is found out when the page is read.
std::uint64_t PageDecoder::memory_for(model::Page const& page, std::optional<std::size_t> out_bytes) {
    constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60;
    auto const stored = std::min<std::uint64_t>(page.stored_bytes, kMostBytes);
    auto const raw = std::min<std::uint64_t>(page.raw_bytes, kMostBytes);
    bool const whole = out_bytes == page.raw_bytes, decodes = page.encoded && out_bytes;
    bool const is_stored = page.place == model::Page::Place::file || page.place == model::Page::Place::journal;
    bool const in_place = !is_stored || (!page.encoded && whole && !page.checksum_follows);
    // A codec rearranges the bytes in a buffer, and one of several stages has two.
    if (decodes && is_stored) codec_bytes_ = std::max(codec_bytes_, 2 * raw);
    return std::max<std::uint64_t>(stored_.capacity(), in_place ? 0 : stored + kPageChecksumBytes) +
           std::max<std::uint64_t>(raw_.capacity(), whole || in_place || !out_bytes ? 0 : raw) + codec_bytes_;
}

codec::Codec& PageDecoder::codec_for(std::string const& name, std::size_t element_bytes) {
    auto& codec = codecs_[{name, element_bytes}];
    if (codec) return *codec;
    try {
        codec = codec::make_codec(name, element_bytes);
    } catch (base::UsageError const& error) { // the name came out of a file
        base::fail_data({fmt::format("pages of codec \"{}\" cannot be read", name), error.what()});
    }
    return *codec;
}

std::span<std::byte const> PageDecoder::stored(model::Page const& page, storage::Storage const& storage,
                                               bool check_checksum) {
    auto const size = storage.size();
    if (page.offset > size || page.stored_bytes > size - page.offset) {
        base::fail_data({fmt::format("the page at offset {} is cut off", page.offset),
                         fmt::format("it has {} bytes, the file ends at {}", page.stored_bytes, size)});
    }
    bool const follows = check_checksum && page.checksum_follows;
    if (follows && size - page.offset - page.stored_bytes < kPageChecksumBytes) {
        base::fail_data(
            {fmt::format("the page at offset {} is cut off", page.offset),
             fmt::format("its checksum should follow its {} bytes, the file ends at {}", page.stored_bytes, size)});
    }
    auto const size_bytes = page.stored_bytes + (follows ? kPageChecksumBytes : 0);
    std::span const bytes(stored_.of(size_bytes), size_bytes);
    storage.read(page.offset, bytes);
    auto const stored = bytes.first(page.stored_bytes);
    if (check_checksum && page.checksum) check(page, stored, *page.checksum);
    if (follows) {
        std::uint64_t checksum = 0;
        std::memcpy(&checksum, bytes.data() + page.stored_bytes, kPageChecksumBytes);
        check(page, stored, checksum);
    }
    return stored;
}

namespace {

void decode_traced(codec::Codec& codec, std::span<std::byte const> stored, std::span<std::byte> out,
                   storage::Storage const& storage) {
    trace::Traced traced(trace::Activity::decode_page, storage.path().c_str(), stored.size());
    codec.decode(stored, out);
    traced.set_result(out.size());
}

} // namespace

void PageDecoder::decode(model::Page const& page, storage::Storage const& storage, PageUnit const& unit,
                         std::string const& codec, bool check_checksum, std::span<std::byte> out) {
    THALWEG_ASSERT(out.size() == page.count * unit.size_bytes, "a page is decoded to as many bytes as its items have");
    auto const from = page.skip * unit.size_bytes;
    if (from + out.size() > page.raw_bytes) {
        base::fail_data({fmt::format("the page at offset {} has {} bytes", page.offset, page.raw_bytes),
                         fmt::format("its record says that items lie up to {}", from + out.size())});
    }
    bool const whole = out.size() == page.raw_bytes;
    auto const size = storage.size();
    bool const cut_off = page.offset > size || page.stored_bytes > size - page.offset; // said by `stored`
    if (!page.encoded && whole && !page.checksum_follows && !cut_off) {
        storage.read(page.offset, out);
        if (check_checksum && page.checksum) check(page, out, *page.checksum);
        if (unit.big_endian) swap_numbers(out, unit.scalar);
        return;
    }
    if (page.encoded && whole) {
        auto const bytes = stored(page, storage, check_checksum);
        decode_traced(codec_for(codec, model::size_bytes(unit.scalar)), bytes, out, storage);
        if (unit.big_endian) swap_numbers(out, unit.scalar);
        return;
    }
    bool const is_checked = check_checksum && (page.checksum || page.checksum_follows);
    if (!page.encoded && !is_checked && !cut_off && from + out.size() <= page.stored_bytes) { // no more than is wanted
        storage.read(page.offset + from, out);
        if (unit.big_endian) swap_numbers(out, unit.scalar);
        return;
    }
    std::memcpy(out.data(), raw(page, storage, unit, codec, check_checksum).data() + from, out.size());
}

std::span<std::byte const> PageDecoder::raw(model::Page const& page, storage::Storage const& storage,
                                            PageUnit const& unit, std::string const& codec, bool check_checksum) {
    auto const bytes = stored(page, storage, check_checksum);
    if (!page.encoded && !unit.big_endian) return bytes;
    auto const decoded_bytes = page.encoded ? page.raw_bytes : bytes.size();
    std::span const decoded(raw_.of(decoded_bytes), decoded_bytes);
    if (page.encoded) {
        decode_traced(codec_for(codec, model::size_bytes(unit.scalar)), bytes, decoded, storage);
    } else {
        std::copy(bytes.begin(), bytes.end(), decoded.begin());
    }
    if (unit.big_endian) swap_numbers(decoded, unit.scalar);
    return decoded;
}

} // namespace thalweg::format
