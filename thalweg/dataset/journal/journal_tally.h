// Counts what the main file of a journal announces, in the same way when it is written and when it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "thalweg/dataset/journal/journal_format.h"

namespace thalweg::dataset {

struct JournalTally {
    std::uint64_t rows = 0;       // of producers that have ended
    std::uint64_t units = 0;      // parts of work units
    std::uint64_t page_bytes = 0; // stored bytes of pages
    // In the middle of any segment: as they are read, or as the writer found them when it took the journal over.
    std::uint64_t damaged_records = 0;

    bool operator==(JournalTally const&) const = default;

    // `payload`: of pages as PageRecords, as the journal gives and takes them.
    void add(RecordType type, std::span<std::byte const> payload);
};

} // namespace thalweg::dataset
