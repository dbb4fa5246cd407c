#include "thalweg/codec/compressor.h"

#include "thalweg/base/error.h"

#include <fmt/format.h>

namespace thalweg::codec {

int default_level(Compression compression) {
    switch (compression) {
    case Compression::deflate:
        return 1;
    case Compression::zstd:
        return 3;
    case Compression::none:
    case Compression::lz4:
        return 0; // it has no levels
    }
    return 0;
}

std::unique_ptr<Compressor> make_compressor(Compression compression, int level) {
    int const used_level = level == 0 ? default_level(compression) : level;
    switch (compression) {
    case Compression::deflate:
        return make_deflate(used_level);
    case Compression::zstd:
        return make_zstd(used_level);
    case Compression::lz4:
        return make_lz4_pages();
    case Compression::none:
        break;
    }
    return nullptr;
}

bool is_inside_bitshuffle(Compression compression) {
    switch (compression) {
    case Compression::lz4:
    case Compression::zstd:
        return true;
    case Compression::none:
    case Compression::deflate:
        return false;
    }
    return false;
}

std::unique_ptr<Compressor> make_block_compressor(Spec const& spec, std::size_t element_bytes) {
    if (spec.compression == Compression::lz4) return make_lz4_planes(8 * element_bytes);
    return make_compressor(spec.compression, spec.level);
}

void fail_page(std::size_t offset, std::string const& why) {
    base::fail_data({fmt::format("the page does not decode from byte {} on", offset), why});
}

} // namespace thalweg::codec
