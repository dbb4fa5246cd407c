// What a node says of its part of a run when it has finished it: how long its journal is, and what it has announced in
// it. The node that completes the file compares this with what it finds: a machine may see a folder of several machines
// as it was some time ago.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "thalweg/dataset/journal/journal_tally.h"

namespace thalweg::dataset {

struct FinishedPart {
    std::uint64_t journal_bytes = 0; // up to behind its last record
    JournalTally tally = {};

    bool operator==(FinishedPart const&) const = default;

    // The text of the announcement, and back. Returns nothing if the text is of no such announcement.
    std::string text() const;
    static std::optional<FinishedPart> from(std::string const& text);
    // All that `said` names is in this one. A process that has taken the journal over may have appended to it since.
    bool covers(FinishedPart const& said) const;
    // For sentences.
    std::string in_words() const;
};

} // namespace thalweg::dataset
