#include "thalweg/format/page_decoder.h"

#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"

namespace thalweg::format {
namespace {

void check(model::Page const& page, std::span<std::byte const> stored, bool check_checksum) {
    if (check_checksum && page.checksum != 0 && base::xxh3(stored) != page.checksum) {
        base::fail_data({fmt::format("the page at offset {} is damaged", page.offset), "its checksum does not fit"});
    }
}

} // namespace

std::span<std::byte> PageDecoder::Scratch::of(std::size_t size_bytes) {
    if (capacity < size_bytes) {
        bytes = std::make_unique_for_overwrite<std::byte[]>(size_bytes);
        capacity = size_bytes;
    }
    return {bytes.get(), size_bytes};
}

codec::Codec& PageDecoder::codec_for(std::string const& name, std::size_t element_bytes) {
    auto& codec = codecs_[{name, element_bytes}];
    if (!codec) codec = codec::make_codec(name, element_bytes);
    return *codec;
}

std::span<std::byte const> PageDecoder::stored(model::Page const& page, storage::Storage const& storage,
                                               bool check_checksum) {
    auto const size = storage.size();
    if (page.offset > size || page.stored_bytes > size - page.offset) {
        base::fail_data({fmt::format("the page at offset {} is cut off", page.offset),
                         fmt::format("it has {} bytes, the file ends at {}", page.stored_bytes, size)});
    }
    auto const bytes = stored_.of(page.stored_bytes);
    storage.read(page.offset, bytes);
    check(page, bytes, check_checksum);
    return bytes;
}

void PageDecoder::decode(model::Page const& page, storage::Storage const& storage, model::Column const& column,
                         std::string const& codec, bool check_checksum, std::span<std::byte> out) {
    auto const from = page.skip * column.item_bytes();
    if (from + out.size() > page.raw_bytes) {
        base::fail_data({fmt::format("the page at offset {} has {} bytes", page.offset, page.raw_bytes),
                         fmt::format("its record says that items lie up to {}", from + out.size())});
    }
    bool const whole = out.size() == page.raw_bytes;
    if (!page.encoded && whole && page.offset + page.stored_bytes <= storage.size()) {
        storage.read(page.offset, out);
        check(page, out, check_checksum);
        return;
    }
    if (page.encoded && whole) {
        codec_for(codec, model::size_bytes(column.scalar)).decode(stored(page, storage, check_checksum), out);
        return;
    }
    std::memcpy(out.data(), raw(page, storage, column, codec, check_checksum).data() + from, out.size());
}

std::span<std::byte const> PageDecoder::raw(model::Page const& page, storage::Storage const& storage,
                                            model::Column const& column, std::string const& codec,
                                            bool check_checksum) {
    auto const bytes = stored(page, storage, check_checksum);
    if (!page.encoded) return bytes;
    auto const decoded = raw_.of(page.raw_bytes);
    codec_for(codec, model::size_bytes(column.scalar)).decode(bytes, decoded);
    return decoded;
}

} // namespace thalweg::format
