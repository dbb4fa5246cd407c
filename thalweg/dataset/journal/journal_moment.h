// A journal as it was at one moment, while it grows: readers of what a flush has made durable see that and no more.
#pragma once

#include <cstdint>

#include "thalweg/dataset/journal/journal_segments.h"

namespace thalweg::dataset {

// The ends of the files of a journal at one moment. Segments in front of the last one do not grow any more.
struct JournalMoment {
    std::uint64_t main_end = 0;
    std::uint32_t last_segment = 0; // 0: there is none
    std::uint64_t last_segment_end = 0;
};

// Returns the journal of that moment. Segments that were removed since then are missing: their rows are in pages that
// were durable by then.
JournalFiles journal_at(JournalFiles const& journal, JournalMoment const& moment);

} // namespace thalweg::dataset
