// The RNTuples of a file: their envelopes, read and checked; and what is beside them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "thalweg/format/rntuple/envelopes/descriptions.h"
#include "thalweg/format/rntuple/writing/file_parts.h"
#include "thalweg/model/run.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format::rntuple {

// The TObjString of a merged file that has no RunText.
inline constexpr char const* kMergedName = "merge";

struct StoredNTuple {
    std::string path; // in the file: "ch0/raw"
    Header header;
    SchemaDescription extension;
    std::vector<ClusterDescription> clusters; // of all groups, by first entry
};

// Returns the schema of header and extension together.
SchemaDescription whole_schema(StoredNTuple const& ntuple);

struct NTupleFile {
    std::vector<StoredNTuple> ntuples;
    std::vector<model::LeftOut> others_versions; // RNTuples of versions that are not read
    std::vector<std::string> trees;              // the paths of its TTrees, which are not read here
    std::optional<RunText> text;                 // of a file that Thalweg wrote
    std::string merged_from;                     // of a file that Thalweg merged from others': what it tells of them
    std::vector<model::LeftOut> others;          // all other objects, such as histograms
};

// Returns the envelope, decompressed if it is compressed. `what` names it. Throws base::DataError that says why it
// cannot be read; its checksum is for `parse_*` to compare.
std::vector<std::byte> read_envelope(storage::Storage const& file, EnvelopeLink const& link, std::string const& what);

// Throws base::DataError that names the part of the file and the reason.
NTupleFile read_ntuples(storage::Storage const& file);

// Its text is about its RNTuples: other programs may have rewritten one and kept the text beside it.
bool is_own(NTupleFile const& file);

} // namespace thalweg::format::rntuple
