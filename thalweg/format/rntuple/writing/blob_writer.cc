#include "thalweg/format/rntuple/writing/blob_writer.h"

#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/checksum.h"
#include "thalweg/base/units.h"
#include "thalweg/codec/root_codec.h"
#include "thalweg/format/rntuple/container/tfile.h"

namespace thalweg::format::rntuple {
namespace {

constexpr std::size_t kEnoughBytes = 4 * base::kMiB;

} // namespace

Blob::Blob(std::uint64_t offset, std::vector<std::byte> memory) : offset_(offset), bytes_(std::move(memory)) {
    bytes_.clear();
    bytes_.resize(kBlobHeadBytes);
}

Locator Blob::add(std::span<std::byte const> bytes) {
    Locator const locator{offset_ + bytes_.size(), bytes.size()};
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return locator;
}

EnvelopeLink Blob::add_envelope(std::span<std::byte const> envelope) { return {envelope.size(), add(envelope)}; }

bool Blob::is_empty() const { return bytes_.size() == kBlobHeadBytes; }

std::vector<std::byte> Blob::finish(std::uint64_t seconds) && {
    THALWEG_ASSERT(bytes_.size() >= kBlobHeadBytes, "a blob is finished once");
    bytes_.resize(base::round_up(bytes_.size(), base::kBlockBytes));
    write_blob_head(bytes_, offset_, seconds);
    return std::move(bytes_);
}

BlobWriter::BlobWriter(storage::Storage& file, std::uint64_t offset, std::uint64_t seconds)
    : file_(file), seconds_(seconds), offset_(offset), blob_(offset) {}

Locator BlobWriter::add_page(std::span<std::byte const> stored) {
    if (!blob_.is_empty() && blob_.size_bytes() + stored.size() > kEnoughBytes) flush();
    auto const locator = blob_.add(stored);
    auto const checksum = base::xxh3(stored);
    blob_.add(std::as_bytes(std::span(&checksum, 1)));
    return locator;
}

EnvelopeLink BlobWriter::add_envelope(std::span<std::byte const> envelope) {
    auto const stored = codec::compress_root_metadata(envelope);
    if (!blob_.is_empty() && blob_.size_bytes() + stored.size() > kEnoughBytes) flush();
    return {envelope.size(), blob_.add(stored)};
}

std::uint64_t BlobWriter::flush() {
    if (blob_.is_empty()) return offset_;
    auto bytes = std::move(blob_).finish(seconds_);
    THALWEG_ASSERT(bytes.size() % base::kBlockBytes == 0, "a key of pages or envelopes is whole blocks");
    file_.write(offset_, bytes);
    offset_ += bytes.size();
    blob_ = Blob(offset_, std::move(bytes));
    return offset_;
}

} // namespace thalweg::format::rntuple
