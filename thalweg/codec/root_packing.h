// Packs the elements of a page as RNTuple does before it compresses them ("Column Description" of its specification).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace thalweg::codec {

// Not thread-safe: it owns scratch memory.
class Packing {
  public:
    virtual ~Packing() = default;
    virtual std::size_t packed_bytes(std::size_t elements) const = 0;

    // Both are given whole elements and exactly their packed bytes. Throw base::UsageError about a value that the
    // column cannot hold, and base::DataError about one that does not fit into an element.
    virtual void pack(std::span<std::byte const> raw, std::span<std::byte> packed) = 0;
    virtual void unpack(std::span<std::byte const> packed, std::span<std::byte> raw) = 0;
};

// By the names of root_codec.h. None: the elements are stored as they are. Throws base::UsageError.
std::unique_ptr<Packing> make_packing(std::string_view encoding, std::size_t element_bytes);

// Each in the file of its name (root_NAME.cc); none where it does not know the name.
std::unique_ptr<Packing> make_bits(std::string_view encoding);
std::unique_ptr<Packing> make_narrow_reals(std::string_view encoding);

} // namespace thalweg::codec
