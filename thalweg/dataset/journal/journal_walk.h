// Walks from record to record through one segment of a journal, whatever a crash or a bad disk left of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/base/units.h"
#include "thalweg/dataset/journal/journal_format.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {

struct JournalDamage {
    std::uint64_t damaged_records = 0; // in the middle: their content is lost, what follows is not
    std::uint64_t end_offset = 0;      // behind the last good record
    std::string reason;                // of the first damage, with its offset; empty when there was none
    bool is_at_end = false; // nothing good follows: a crash leaves that, or a record that is just being written
    std::vector<std::uint64_t> offsets = {}; // of all damage in this segment; of a whole journal: in the main one
    std::uint64_t later_bytes = 0; // of a whole journal: the same as `end_offset` for its later segments, added
};

struct WalkedRecord {
    RecordType type;
    std::span<std::byte const> payload; // valid until the next one
    std::uint64_t payload_offset;
    std::uint64_t end_offset;
};

// Returns what a record takes with its head and its padding.
inline std::uint64_t record_bytes(std::uint64_t payload_bytes) {
    return base::round_up(sizeof(RecordHead) + payload_bytes, 8);
}

RecordHead make_record_head(RecordType type, std::span<std::byte const> payload);

// False from `visit`: the payload makes no sense, and counts as damaged. What is behind the last good record is
// reported, not thrown: a torn end is what a crash leaves.
JournalDamage walk_records(storage::Storage const& segment, std::uint64_t begin,
                           std::function<bool(WalkedRecord const&)> const& visit);

// Returns true if there is a record at or behind `begin`.
bool has_record(storage::Storage const& segment, std::uint64_t begin);

} // namespace thalweg::dataset
