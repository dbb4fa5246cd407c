#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "thalweg/base/scratch.h"
#include "thalweg/codec/codec.h"
#include "thalweg/model/column.h"
#include "thalweg/model/page.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format {

// What a page counts: items of a column, or its single values.
struct PageUnit {
    model::Scalar scalar = model::Scalar::float64;
    std::size_t size_bytes = 0;
    bool big_endian = false; // as they are stored; what is decoded is little endian
};

// Reads pages of any column, with codecs and scratch memory of its own: one for each thread.
class PageDecoder {
  public:
    // The page's `count` items into `out`. Whole pages are decoded in place. Throws base::DataError (offset, reason).
    void decode(model::Page const& page, storage::Storage const& storage, PageUnit const& unit,
                std::string const& codec, bool check_checksum, std::span<std::byte> out);

    // The whole page, decoded, valid until the next call.
    std::span<std::byte const> raw(model::Page const& page, storage::Storage const& storage, PageUnit const& unit,
                                   std::string const& codec, bool check_checksum);

    // The page's stored bytes, valid until the next call.
    std::span<std::byte const> stored(model::Page const& page, storage::Storage const& storage, bool check_checksum);

    // Its buffers, once it has read this page, too, and decoded so many bytes of it (none: has but read it).
    std::uint64_t memory_for(model::Page const& page, std::optional<std::size_t> out_bytes);

  private:
    codec::Codec& codec_for(std::string const& name, std::size_t element_bytes);

    std::map<std::pair<std::string, std::size_t>, std::unique_ptr<codec::Codec>> codecs_;
    base::Scratch stored_;
    base::Scratch raw_;
    std::uint64_t codec_bytes_ = 0; // about so much the codecs may have
};

} // namespace thalweg::format
