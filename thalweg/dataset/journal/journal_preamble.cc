#include "thalweg/dataset/journal/journal_preamble.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <vector>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/base/fresh_status.h"
#include "thalweg/base/process.h"
#include "thalweg/base/stand_in.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/journal/journal_walk.h"

namespace thalweg::dataset {
namespace {

constexpr std::size_t kNameBytes = 6; // of the magic: the version follows

template <std::size_t N> void copy_text(char (&to)[N], std::string const& text) {
    std::strncpy(to, text.c_str(), N - 1);
    to[N - 1] = '\0';
}

std::span<std::byte const> checked_part(JournalPreamble const& preamble) {
    return std::as_bytes(std::span(&preamble, 1)).first(offsetof(JournalPreamble, check));
}

std::uint64_t second_head(JournalPreamble const& preamble) {
    return kHeadOffset + base::round_up(preamble.head_bytes, base::kBlockBytes);
}

// As many bytes as there are, up to `size_bytes`.
std::vector<std::byte> bytes_at(storage::Storage const& file, std::uint64_t offset, std::uint64_t size_bytes) {
    auto const size = file.size();
    std::vector<std::byte> bytes(offset >= size ? 0 : std::min(size_bytes, size - offset));
    if (!bytes.empty()) file.read(offset, bytes);
    return bytes;
}

bool has_head(storage::Storage const& file, JournalStart& start) {
    auto const& preamble = start.preamble;
    for (auto const offset : {kHeadOffset, second_head(preamble)}) {
        auto const bytes = bytes_at(file, offset, preamble.head_bytes);
        if (bytes.size() != preamble.head_bytes || base::xxh3(bytes) != preamble.head_check) continue;
        start.head_json.assign(reinterpret_cast<char const*>(bytes.data()), bytes.size());
        return true;
    }
    return false;
}

bool is_zero(std::span<std::byte const> bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte each) { return each == std::byte{0}; });
}

bool has_our_name(std::span<std::byte const> magic) {
    return magic.size() == sizeof kJournalMagic && std::memcmp(magic.data(), kJournalMagic, kNameBytes) == 0;
}

// A creation writes the beginning in one go, into an empty file. What a kill or a power cut leaves of that has lost its
// end, or blocks; records come only once all of it was durable.
bool is_stub(storage::Storage const& file, bool has_preamble) {
    bool const is_empty = is_zero(bytes_at(file, 0, sizeof kJournalMagic));
    if (!has_preamble && !is_empty && !has_our_name(bytes_at(file, 0, sizeof kJournalMagic))) return false;
    return !has_record(file, kHeadOffset);
}

} // namespace

JournalStart read_start(storage::Storage const& file) {
    JournalStart start;
    bool has_preamble = false;
    for (auto const offset : kPreambleOffsets) {
        auto const bytes = bytes_at(file, offset, sizeof(JournalPreamble));
        if (bytes.size() < sizeof(JournalPreamble)) continue;
        std::memcpy(&start.preamble, bytes.data(), sizeof(JournalPreamble));
        if (std::memcmp(start.preamble.magic, kJournalMagic, sizeof kJournalMagic) != 0) continue;
        if (start.preamble.check != base::xxh3(checked_part(start.preamble))) continue;
        has_preamble = true;
        if (start.preamble.segment != 0 || has_head(file, start)) {
            start.kind = JournalKind::journal;
            return start;
        }
    }
    auto const magic = bytes_at(file, 0, sizeof kJournalMagic);
    if (has_our_name(magic) && std::memcmp(magic.data(), kJournalMagic, sizeof kJournalMagic) != 0) {
        start.kind = JournalKind::other_version;
        start.version.assign(reinterpret_cast<char const*>(magic.data()) + kNameBytes,
                             sizeof kJournalMagic - kNameBytes);
    } else if (is_stub(file, has_preamble)) {
        start.kind = JournalKind::stub;
    }
    return start;
}

JournalStart require_start(storage::Storage const& file) {
    auto start = read_start(file);
    check_start(start, file.path());
    return start;
}

void check_start(JournalStart const& start, std::string const& path) {
    switch (start.kind) {
    case JournalKind::journal:
        return;
    case JournalKind::other_version:
        base::fail_usage({fmt::format("{} cannot be read", path),
                          fmt::format("it is a journal of version {}, and this Thalweg reads version {:02}",
                                      start.version, kJournalVersion),
                          "use the version of Thalweg that recorded the run; nothing was changed"});
    case JournalKind::stub:
        base::fail_data(
            {fmt::format("{} cannot be read", path), "its beginning is not whole",
             "if nothing was recorded with it, `thalweg recover` clears it, and so does the next recording"});
    case JournalKind::foreign:
        break;
    }
    base::fail_data({path + " is not a journal of Thalweg", "neither of its two beginnings is one"});
}

std::uint32_t birth_mark(std::string const& path) {
    if (base::stand_in != nullptr) return 0;
    auto const status = base::fresh_status(path);
    if (!status) base::fail_system({"cannot look at " + path}, ENOENT);
    if (!status->born) return 0;
    std::uint64_t const moment[] = {static_cast<std::uint64_t>(status->born->seconds), status->born->nanoseconds};
    auto const mark = static_cast<std::uint32_t>(base::xxh3(std::as_bytes(std::span(moment))));
    return mark != 0 ? mark : 1;
}

DataFile data_file_at(std::string const& path) {
    auto const identity = base::identity_of(path);
    return identity ? DataFile{*identity, birth_mark(path)} : DataFile{};
}

JournalPreamble make_preamble(std::string const& run_id, std::uint32_t segment, DataFile const& data_file,
                              NodeOfRun const& node) {
    JournalPreamble preamble{};
    std::memcpy(preamble.magic, kJournalMagic, sizeof kJournalMagic);
    preamble.segment = segment;
    preamble.node = node.node;
    preamble.nodes = node.nodes;
    copy_text(preamble.run_id, run_id);
    copy_text(preamble.boot_id, base::boot_id());
    copy_text(preamble.host, base::host_name());
    preamble.device = data_file.identity.device;
    preamble.inode = data_file.identity.inode;
    preamble.birth = data_file.birth;
    return preamble;
}

std::uint64_t write_start(storage::Storage& file, JournalPreamble preamble, std::string_view head_json) {
    auto const head = std::as_bytes(std::span(head_json));
    preamble.head_bytes = head.size();
    preamble.head_check = base::xxh3(head);
    preamble.records = head.empty() ? kHeadOffset : second_head(preamble) + base::round_up(head.size(), 8);
    preamble.check = base::xxh3(checked_part(preamble));
    std::vector<std::byte> bytes(preamble.records);
    for (auto const offset : kPreambleOffsets) std::memcpy(bytes.data() + offset, &preamble, sizeof preamble);
    if (!head.empty()) {
        std::memcpy(bytes.data() + kHeadOffset, head.data(), head.size());
        std::memcpy(bytes.data() + second_head(preamble), head.data(), head.size());
    }
    file.write(0, bytes);
    return preamble.records;
}

} // namespace thalweg::dataset
