#include "thalweg/format/hdf5/ours/header.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>
#include <vector>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/format/hdf5/ours/claiming_file.h"
#include "thalweg/format/hdf5/ours/lookup3.h"

namespace thalweg::format::hdf5::ours {
namespace {

struct MetadataSeal {
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t checksum = 0;      // base::xxh3 of the metadata
    std::uint64_t seal_checksum = 0; // of the three above
};
static_assert(sizeof(MetadataSeal) == 32);

constexpr std::size_t kEndOfFileOffset = 28, kChecksumOffset = 44, kSuperblockBytes = 48;
constexpr std::size_t kSealOffset = 1024;
constexpr std::string_view kMark = "THALWEG RUN ";
constexpr std::size_t kMaxIdBytes = 128;
constexpr std::array<unsigned char, 8> kSignature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

bool has_signature(storage::Storage const& file, std::uint64_t offset) {
    std::array<std::byte, kSignature.size()> signature{};
    if (file.size() < offset + signature.size()) return false;
    file.read(offset, signature);
    return std::memcmp(signature.data(), kSignature.data(), signature.size()) == 0;
}

std::uint64_t checksum_of(MetadataSeal const& seal) {
    return base::xxh3(std::as_bytes(std::span(&seal, 1)).first(offsetof(MetadataSeal, seal_checksum)));
}

MetadataSeal seal_of(std::uint64_t offset, std::span<std::byte const> metadata) {
    return {offset, metadata.size(), base::xxh3(metadata), 0};
}

// Throws base::DataError if the metadata is not what the seal says.
void check_metadata(storage::Storage const& file, MetadataSeal const& seal) {
    auto const broken = file.path() + " is not as it was when it was completed";
    auto const size = file.size();
    if (seal.offset > size || seal.size_bytes > size - seal.offset) {
        base::fail_data({broken, fmt::format("its metadata were {} bytes at offset {}, it has {} bytes",
                                             seal.size_bytes, seal.offset, size)});
    }
    std::vector<std::byte> metadata(seal.size_bytes);
    file.read(seal.offset, metadata);
    if (base::xxh3(metadata) != seal.checksum) {
        base::fail_data({broken, fmt::format("its metadata, from offset {} to {}, is damaged, or another program has "
                                             "changed it",
                                             seal.offset, seal.offset + seal.size_bytes)});
    }
}

// The sector at 512. Its own checksum holds the superblock and the seal together, should a disk tear it.
struct InterimSector {
    std::array<std::byte, 256> superblock;
    MetadataSeal seal;
    std::array<std::byte, 224> zeros;

    std::uint64_t checksum() const {
        auto copy = *this;
        copy.seal.seal_checksum = 0;
        return base::xxh3(std::as_bytes(std::span(&copy, 1)));
    }
};
static_assert(sizeof(InterimSector) == ClaimingFile::kSuperblockBytes);

std::optional<InterimSector> whole_interim_sector(storage::Storage const& file) {
    if (!has_interim_superblock(file)) return std::nullopt;
    InterimSector sector;
    file.read(kInterimSector, std::as_writable_bytes(std::span(&sector, 1)));
    if (sector.seal.seal_checksum != sector.checksum()) return std::nullopt;
    return sector;
}

} // namespace

void write_header(storage::Storage& file, std::string const& run_id) {
    if (run_id.size() > kMaxIdBytes) base::fail_usage({"the run's id is too long", run_id});
    std::array<std::byte, base::kBlockBytes> header{};
    auto const mark = std::string(kMark) + run_id;
    std::memcpy(header.data() + kMarkOffset, mark.data(), mark.size());
    file.write(0, header);
}

std::optional<std::string> run_id_of(storage::Storage const& file) {
    if (file.size() < base::kBlockBytes) return std::nullopt;
    std::array<char, kMark.size() + kMaxIdBytes> mark{};
    file.read(kMarkOffset, std::as_writable_bytes(std::span(mark)));
    std::string_view const text(mark.data(), mark.size());
    if (!text.starts_with(kMark)) return std::nullopt;
    return std::string(text.substr(kMark.size(), text.find('\0') - kMark.size()));
}

bool is_checkpoint(storage::Storage const& file) {
    if (file.size() < base::kBlockBytes) return false;
    std::array<char, kCheckpointMark.size()> mark{};
    file.read(kMarkOffset, std::as_writable_bytes(std::span(mark)));
    return std::string_view(mark.data(), mark.size()) == kCheckpointMark;
}

void write_seal(storage::Storage& file, std::uint64_t offset, std::span<std::byte const> metadata) {
    auto seal = seal_of(offset, metadata);
    seal.seal_checksum = checksum_of(seal);
    file.write(kSealOffset, std::as_bytes(std::span(&seal, 1)));
}

void check_seal(storage::Storage const& file) {
    MetadataSeal seal;
    file.read(kSealOffset, std::as_writable_bytes(std::span(&seal, 1)));
    if (seal.seal_checksum != checksum_of(seal)) {
        base::fail_data(
            {file.path() + " is not as it was when it was completed", "the seal at offset 1024 is damaged"});
    }
    check_metadata(file, seal);
}

void check_interim_seal(storage::Storage const& file) {
    auto const sector = whole_interim_sector(file);
    if (!sector) base::fail_data({"the sector at offset 512 is damaged"});
    check_metadata(file, sector->seal);
}

bool is_sealed(storage::Storage const& file) {
    bool const is_complete = has_superblock(file);
    if (file.size() < base::kBlockBytes || !(is_complete || has_interim_superblock(file))) return false;
    try {
        is_complete ? check_seal(file) : check_interim_seal(file);
        return true;
    } catch (base::DataError const&) {
        return false;
    }
}

bool has_superblock(storage::Storage const& file) { return has_signature(file, 0); }

bool has_interim_superblock(storage::Storage const& file) { return has_signature(file, kInterimSector); }

bool has_whole_interim_sector(storage::Storage const& file) { return whole_interim_sector(file).has_value(); }

std::uint64_t end_of_interim(storage::Storage const& file) {
    if (!has_interim_superblock(file)) return 0;
    std::array<std::byte, kSuperblockBytes> superblock;
    file.read(kInterimSector, superblock);
    std::uint32_t checksum = 0;
    std::memcpy(&checksum, superblock.data() + kChecksumOffset, sizeof checksum);
    if (checksum != lookup3(std::span(superblock).first(kChecksumOffset))) return 0;
    std::uint64_t end = 0;
    std::memcpy(&end, superblock.data() + kEndOfFileOffset, sizeof end);
    return end;
}

void write_interim_sector(storage::Storage& file, std::span<std::byte const> superblock, std::uint64_t offset,
                          std::span<std::byte const> metadata) {
    InterimSector sector{};
    std::copy_n(superblock.begin(), sector.superblock.size(), sector.superblock.begin());
    sector.seal = seal_of(offset, metadata);
    sector.seal.seal_checksum = sector.checksum();
    file.write(kInterimSector, std::as_bytes(std::span(&sector, 1)));
}

std::uint64_t end_of_file(storage::Storage const& file) {
    std::uint64_t end = 0; // in the byte order of HDF5 and of this machine
    file.read(kEndOfFileOffset, std::as_writable_bytes(std::span(&end, 1)));
    return end;
}

void write_superblock(storage::Storage& file, std::span<std::byte const> superblock) {
    std::array<std::byte, ClaimingFile::kSuperblockBytes> sector{};
    std::copy(superblock.begin(), superblock.end(), sector.begin());
    file.write(0, sector);
}

} // namespace thalweg::format::hdf5::ours
