// Rows in the bytes of a file, a pipe, a socket or UDP datagrams, as a source.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/source/raw/row.h"
#include "thalweg/source/source.h"

namespace thalweg::source::raw {

struct RawStream {
    std::string input; // see input_address.h
    std::string shown; // the input in messages; empty: as it is
    Row row;           // its table names the stream
};

struct RawOptions {
    std::vector<RawStream> streams;
    std::size_t batch_bytes = 128 << 10;         // approximately
    std::map<std::string, std::string> metadata; // what to note of the rows
};

// Throws base::UsageError if a row or an input is described wrongly. An input is opened when its stream is opened.
std::unique_ptr<Source> make_raw(RawOptions options);

} // namespace thalweg::source::raw
