#include "thalweg/codec/compressor.h"

#include <lzma.h>

namespace thalweg::codec {
namespace {

// The highest preset of xz needs 65 MiB; a damaged header must not ask for more.
constexpr std::uint64_t kMemoryLimitBytes = std::uint64_t{96} << 20;

std::uint8_t const* uints(std::byte const* bytes) { return reinterpret_cast<std::uint8_t const*>(bytes); }

// A whole .xz stream. Only for files of others: nothing that writes fast would choose it.
class Lzma : public Compressor {
  public:
    std::size_t bound_bytes(std::size_t) const override { return 0; }
    std::size_t compress(std::span<std::byte const>, std::span<std::byte>) override { return 0; }

    char const* decompress(std::span<std::byte const> stored, std::span<std::byte> raw) override {
        std::uint64_t limit = kMemoryLimitBytes;
        std::size_t read = 0, written = 0;
        auto const result =
            lzma_stream_buffer_decode(&limit, 0, nullptr, uints(stored.data()), &read, stored.size(),
                                      reinterpret_cast<std::uint8_t*>(raw.data()), &written, raw.size());
        if (result != LZMA_OK) return "the xz stream is damaged";
        if (read != stored.size()) return "bytes follow the end of the xz stream";
        return written == raw.size() ? nullptr : "the xz stream is shorter than the page";
    }
};

} // namespace

std::unique_ptr<Compressor> make_lzma() { return std::make_unique<Lzma>(); }

} // namespace thalweg::codec
