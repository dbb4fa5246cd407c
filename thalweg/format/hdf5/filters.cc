#include "thalweg/format/hdf5/filters.h"

#include <array>
#include <memory>
#include <span>
#include <vector>
#include <zstd.h>

#include "thalweg/base/error.h"
#include "thalweg/codec/codec.h"
#include "thalweg/codec/hdf5_filters.h"
#include "thalweg/format/hdf5/library_lock.h"

namespace thalweg::format::hdf5 {
namespace {

constexpr H5Z_filter_t kLz4 = 32004;
constexpr H5Z_filter_t kBitshuffle = 32008;
constexpr H5Z_filter_t kZstd = 32015;

using Bytes = std::span<std::byte const>;

struct LibraryFree {
    void operator()(void* memory) const { H5free_memory(memory); }
};
using LibraryMemory = std::unique_ptr<void, LibraryFree>;

std::size_t element_bytes_of(H5Z_filter_t id, std::span<unsigned const> values) {
    return id == kBitshuffle && values.size() > 2 && values[2] > 0 ? values[2] : 1;
}

// The eight bytes, big endian, that a page begins with; 0 if it has fewer.
std::size_t leading_number(Bytes stored) {
    if (stored.size() < 8) return 0;
    std::size_t number = 0;
    for (auto const byte : stored.first(8)) number = number << 8 | std::to_integer<std::size_t>(byte);
    return number;
}

std::size_t zstd_frame_bytes(Bytes stored) {
    auto const size = ZSTD_getFrameContentSize(stored.data(), stored.size());
    return size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR ? 0 : size;
}

// The size that a page has once it is decoded; 0 if it is unknown. lz4, alone or behind bitshuffle, begins with it, and
// so does zstd behind bitshuffle.
std::size_t decoded_bytes(H5Z_filter_t id, codec::Spec const& spec, Bytes stored) {
    switch (spec.compression) {
    case codec::Compression::none:
        return stored.size();
    case codec::Compression::deflate: // libhdf5 has a filter of its own for it
        return 0;
    case codec::Compression::lz4:
        return leading_number(stored);
    case codec::Compression::zstd:
        return id == kBitshuffle ? leading_number(stored) : zstd_frame_bytes(stored);
    }
    return 0;
}

// As libhdf5 wants it: `*buffer` is replaced by the result, whose size is returned; 0 is failure.
std::size_t run_filter(H5Z_filter_t id, bool decode, std::span<unsigned const> values, std::size_t size_bytes,
                       std::size_t* buffer_bytes, void** buffer) {
    codec::Hdf5Filter const filter{static_cast<unsigned>(id), "", {values.begin(), values.end()}};
    auto const element_bytes = element_bytes_of(id, values);
    auto const spec = codec::spec_of_filters({filter}, element_bytes);
    auto const codec = codec::make_codec(spec, element_bytes);
    Bytes const input{static_cast<std::byte const*>(*buffer), size_bytes};
    auto const room = decode ? decoded_bytes(id, spec, input) : codec->bound_bytes(size_bytes);
    if (room == 0) return 0;
    LibraryMemory output(H5allocate_memory(room, false));
    if (!output) return 0;
    std::span<std::byte> const out{static_cast<std::byte*>(output.get()), room};
    auto result = room;
    if (decode) {
        codec->decode(input, out);
    } else {
        result = codec->encode(input, out);
    }
    if (result == 0) return 0;
    H5free_memory(*buffer);
    *buffer = output.release();
    *buffer_bytes = room;
    return result;
}

template <H5Z_filter_t Id>
std::size_t filter_callback(unsigned flags, std::size_t values_count, unsigned const values[], std::size_t size_bytes,
                            std::size_t* buffer_bytes, void** buffer) {
    try {
        return run_filter(Id, (flags & H5Z_FLAG_REVERSE) != 0, {values, values_count}, size_bytes, buffer_bytes,
                          buffer);
    } catch (...) {
        keep_failure(std::current_exception());
        return 0;
    }
}

// The name under which the filter of a codec is registered ends up in every file.
template <H5Z_filter_t Id> void register_filter(std::string_view codec) {
    static std::string const name = codec::filter_pipeline(codec::Spec::parse(codec), 1).at(0).name;
    H5Z_class2_t const filter{H5Z_CLASS_T_VERS, Id, 1, 1, name.c_str(), nullptr, nullptr, filter_callback<Id>};
    check(H5Zregister(&filter), "the filter '" + name + "' cannot be registered");
}

} // namespace

void register_filters() {
    static bool const once = [] {
        register_filter<kLz4>("lz4");
        register_filter<kBitshuffle>("bitshuffle+lz4");
        register_filter<kZstd>("zstd");
        return true;
    }();
    static_cast<void>(once);
}

void set_filters(hid_t creation, std::string const& codec, std::size_t element_bytes) {
    for (auto const& filter : codec::filter_pipeline(codec::Spec::parse(codec), element_bytes)) {
        auto const id = static_cast<H5Z_filter_t>(filter.id);
        if (H5Zfilter_avail(id) <= 0) { // libhdf5 would leave an optional one out, and no reader could open the file
            base::fail_usage(
                {"the codec '" + codec + "' cannot be used", "no filter " + filter.name + " is registered"});
        }
        // Optional, since pages that do not shrink go without; mandatory for reading all the same.
        check(H5Pset_filter(creation, id, H5Z_FLAG_OPTIONAL, filter.cd_values.size(), filter.cd_values.data()),
              "the filter " + filter.name + " cannot be set");
    }
}

std::string codec_of_filters(hid_t creation, std::size_t element_bytes, unsigned mask) {
    std::vector<codec::Hdf5Filter> filters;
    auto const count = H5Pget_nfilters(creation);
    for (unsigned i = 0; count > 0 && i < static_cast<unsigned>(count); ++i) {
        if ((mask >> i & 1) != 0) continue;
        std::array<unsigned, 64> values{};
        auto values_count = values.size();
        unsigned flags = 0;
        unsigned config = 0;
        auto const id = H5Pget_filter2(creation, i, &flags, &values_count, values.data(), 0, nullptr, &config);
        check(id, "the filters of a dataset cannot be read");
        auto const end = values.begin() + static_cast<std::ptrdiff_t>(std::min(values_count, values.size()));
        filters.push_back({static_cast<unsigned>(id), "", {values.begin(), end}});
    }
    return codec::codec_of_filters(filters, element_bytes);
}

unsigned all_filters_mask(hid_t creation) {
    auto const count = H5Pget_nfilters(creation);
    return count > 0 ? (1u << count) - 1 : 0;
}

} // namespace thalweg::format::hdf5
