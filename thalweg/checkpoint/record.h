// The record by which a checkpoint describes itself for restoring: docs/formats/checkpoint.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/checkpoint/array.h"
#include "thalweg/checkpoint/ranks.h"
#include "thalweg/model/attributes.h"
#include "thalweg/storage/storage.h"

namespace thalweg::checkpoint {

struct Record {
    std::string id;
    model::Attributes attributes;
    std::vector<StoredArray> arrays; // ascending by name
};

// As it lies in the file: a text and the checksums of all pieces, in the order of pages.
struct RecordBytes {
    Bytes text;
    Bytes checksums;
};

RecordBytes to_bytes(Record const& record);
// Throws base::DataError that names `path` if they are no record.
Record from_bytes(RecordBytes const& bytes, std::string const& path);

// Reads and checks the record of a file that is a checkpoint. Throws base::DataError if it is damaged or too new, or if
// the mark of the file is not that of its record.
RecordBytes read_record(storage::Storage const& file);

} // namespace thalweg::checkpoint
