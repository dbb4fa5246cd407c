#include "thalweg/felix/block.h"

#include <fmt/format.h>

#include "thalweg/base/error.h"

namespace thalweg::felix {
namespace {

constexpr std::uint16_t kNarrowMagic = 0xABCD;
constexpr std::uint16_t kWideMagic = 0xABCE;
constexpr std::uint16_t kSizedMagic = 0xC0CE; // bits 8 to 13: size in kB, minus one

} // namespace

std::optional<BlockFormat> format_of_magic(std::uint16_t magic) {
    if (magic == kNarrowMagic) return BlockFormat{magic, 1024, 2};
    if (magic == kWideMagic) return BlockFormat{magic, 1024, 4};
    if ((magic & 0xC0FF) != kSizedMagic) return std::nullopt;
    return BlockFormat{magic, ((magic >> 8 & 0x3Fu) + 1) * 1024, 4};
}

BlockFormat parse_format(std::string_view name, std::uint32_t block_bytes) {
    if (block_bytes == 0 || block_bytes % 1024 != 0 || block_bytes > kMaxBlockBytes) {
        base::fail_usage({fmt::format("blocks of {} bytes cannot be had", block_bytes),
                          "a block has 1 to 64 times 1024 bytes", "try 1024, 2048 or 4096"});
    }
    if (name == "c0ce")
        return *format_of_magic(static_cast<std::uint16_t>(kSizedMagic | (block_bytes / 1024 - 1) << 8));
    if (name != "abcd" && name != "abce") {
        base::fail_usage({fmt::format("there is no block format '{}'", name), "", "choose abcd, abce or c0ce"});
    }
    if (block_bytes != 1024) {
        base::fail_usage({fmt::format("blocks of {} bytes cannot be had in format {}", block_bytes, name),
                          "its blocks have 1024 bytes", "choose c0ce, whose blocks may be larger"});
    }
    return *format_of_magic(name == "abcd" ? kNarrowMagic : kWideMagic);
}

} // namespace thalweg::felix
