// What is the same in every state of a run's file: it follows from the head of the run alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "thalweg/format/rntuple/container/tfile.h"
#include "thalweg/format/rntuple/envelopes/descriptions.h"
#include "thalweg/format/rntuple/writing/seal.h"
#include "thalweg/format/rntuple/writing/units.h"
#include "thalweg/model/run.h"

namespace thalweg::format::rntuple {

inline constexpr char const* kTextName = "thalweg";

struct FileParts {
    Skeleton skeleton;
    std::vector<std::uint64_t> header_checksums; // by table
};

FileParts file_parts(model::RunHead const& head);

// The text under the name "thalweg": what RNTuple has no place for. `metadata` with what was added since the beginning.
NamedText run_text(model::RunHead const& head, std::map<std::string, std::string> const& metadata, bool closed,
                   StoredUnits const& units = {}, FileSeal const& seal = {});

struct RunText {
    model::RunHead head;
    std::map<std::string, std::string> metadata;
    bool closed = false;
    StoredUnits units;
    FileSeal seal;
};
RunText parse_run_text(std::string const& text);

// The anchor of a table whose footer lies at `footer`.
Anchor anchor_of(TablePlace const& place, EnvelopeLink const& footer);

} // namespace thalweg::format::rntuple
