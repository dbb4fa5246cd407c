// The RNTuples of a file: their envelopes, read and checked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "thalweg/format/rntuple/descriptions.h"
#include "thalweg/format/rntuple/file_parts.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format::rntuple {

struct StoredNTuple {
    std::string path; // in the file: "ch0/raw"
    Header header;
    SchemaDescription extension;
    std::vector<ClusterDescription> clusters; // of all groups, by first entry
};

struct NTupleFile {
    std::vector<StoredNTuple> ntuples;
    std::vector<std::string> trees; // the paths of its TTrees, which are not read here
    std::optional<RunText> text;    // of a file that Thalweg wrote
};

// Throws base::DataError that names the part of the file and the reason.
NTupleFile read_ntuples(storage::Storage const& file);

} // namespace thalweg::format::rntuple
