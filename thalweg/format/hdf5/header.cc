#include "thalweg/format/hdf5/header.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/format/hdf5/claiming_file.h"

namespace thalweg::format::hdf5 {
namespace {

constexpr std::size_t kMarkOffset = 2048;
constexpr std::string_view kMark = "THALWEG RUN ";
constexpr std::size_t kMaxIdBytes = 128;
constexpr std::array<unsigned char, 8> kSignature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

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

bool has_superblock(storage::Storage const& file) {
    std::array<std::byte, kSignature.size()> signature{};
    if (file.size() < signature.size()) return false;
    file.read(0, signature);
    return std::memcmp(signature.data(), kSignature.data(), signature.size()) == 0;
}

void write_superblock(storage::Storage& file, std::span<std::byte const> superblock) {
    std::array<std::byte, ClaimingFile::kSuperblockBytes> sector{};
    std::copy(superblock.begin(), superblock.end(), sector.begin());
    file.write(0, sector);
}

} // namespace thalweg::format::hdf5
