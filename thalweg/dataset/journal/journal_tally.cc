#include "thalweg/dataset/journal/journal_tally.h"

#include <cstring>

namespace thalweg::dataset {

void JournalTally::add(RecordType type, std::span<std::byte const> payload) {
    if (type == RecordType::unit) ++units;
    if (type == RecordType::finish && payload.size() >= sizeof(FinishRecord)) {
        FinishRecord finish;
        std::memcpy(&finish, payload.data(), sizeof finish);
        rows += finish.rows;
    }
    if (type != RecordType::pages) return;
    for (std::size_t at = 0; at + sizeof(PageRecord) <= payload.size(); at += sizeof(PageRecord)) {
        PageRecord page;
        std::memcpy(&page, payload.data() + at, sizeof page);
        if (page.column != kClusterEnd) page_bytes += page.stored_bytes;
    }
}

} // namespace thalweg::dataset
