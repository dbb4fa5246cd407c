#include "thalweg/format/hdf5/ours/chunk_encoder.h"

#include <algorithm>

#include "thalweg/base/assert.h"
#include "thalweg/base/checksum.h"

namespace thalweg::format::hdf5::ours {

ChunkEncoder::ChunkEncoder(Dataset const& dataset, Appender& appender)
    : appender_(appender),
      codec_(codec::make_codec(codec::Spec::parse(dataset.codec), model::size_bytes(dataset.scalar))),
      encoded_(codec_->bound_bytes(dataset.page_bytes())) {}

Chunk ChunkEncoder::append(std::span<std::byte const> raw) {
    THALWEG_ASSERT(codec_->bound_bytes(raw.size()) <= encoded_.size(),
                   "a chunk is no larger than a page of its dataset");
    auto const size_bytes = codec_->encode(raw, encoded_);
    auto const stored = size_bytes == 0 ? raw : std::span<std::byte const>(encoded_).first(size_bytes);
    return {appender_.append(stored), stored.size(), base::xxh3(stored), size_bytes != 0};
}

void append_items(Dataset& dataset, std::span<std::byte const> items, Appender& appender) {
    ChunkEncoder encoder(dataset, appender);
    std::vector<std::byte> page(dataset.page_bytes());
    for (std::size_t begin = 0; begin < items.size(); begin += page.size()) {
        auto const count = std::min(page.size(), items.size() - begin);
        std::copy_n(items.data() + begin, count, page.data());
        std::fill(page.begin() + static_cast<std::ptrdiff_t>(count), page.end(), std::byte{});
        dataset.pages.push_back(encoder.append(page));
    }
    dataset.items = items.size() / dataset.item_bytes;
}

} // namespace thalweg::format::hdf5::ours
