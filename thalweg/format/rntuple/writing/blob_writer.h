// Appends keys of class RBlob to a file: envelopes, and pages that no producer wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/format/rntuple/envelopes/descriptions.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format::rntuple {

// One blob in memory, to lie at `offset`.
class Blob {
  public:
    // `memory` is taken for its bytes, so that it need not be asked for again.
    explicit Blob(std::uint64_t offset, std::vector<std::byte> memory = {});

    // Returns where the bytes will lie.
    Locator add(std::span<std::byte const> bytes);
    EnvelopeLink add_envelope(std::span<std::byte const> envelope);
    bool is_empty() const;
    std::size_t size_bytes() const { return bytes_.size(); }

    // The whole key, a multiple of base::kBlockBytes.
    std::vector<std::byte> finish(std::uint64_t seconds) &&;

  private:
    std::uint64_t offset_;
    std::vector<std::byte> bytes_;
};

// Writes as many blobs as it takes, one behind the other.
class BlobWriter {
  public:
    BlobWriter(storage::Storage& file, std::uint64_t offset, std::uint64_t seconds);

    // A page with its checksum behind it.
    Locator add_page(std::span<std::byte const> stored);
    // Compressed, if that makes it shorter.
    EnvelopeLink add_envelope(std::span<std::byte const> envelope);
    // Writes what is gathered; returns the end.
    std::uint64_t flush();

  private:
    storage::Storage& file_;
    std::uint64_t seconds_;
    std::uint64_t offset_;
    Blob blob_;
};

} // namespace thalweg::format::rntuple
