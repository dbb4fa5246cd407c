// The metadata behind all pages, and the order of writes in which a ROOT file becomes complete.
//
// Invariants
//   1. Nothing names a byte that was not durable before it.
//   2. Nothing that an anchor or the first sector names is written over. The anchors and the first sector are, and each
//      of them lies within one sector of 512 bytes, so that a power cut leaves the old one or the new one.
//   3. A reader sees the rows up to the last interim footer, or all of them.
//
//   step                                                            a crash behind it leaves
//   1. add_table: the lists of pages and a footer of every table,   an open file: the anchors name the last interim
//      behind all pages                                             footers
//   2. finish: the text with the seal, the list of keys and the     the same
//      list of free ranges, behind the footers; the file gets its
//      size (unless another node may be completing it, too)
//   3. sync                                                         the same
//   4. the anchors, one a table                                     each table shows its old rows or all its rows
//   5. sync                                                         all rows; the first sector says that the run is
//   open
//   6. the first sector: end of the file, list of keys              all rows; it is open or complete
//   7. sync                                                         a complete file
//
// If a step fails, `complete` is called again and begins behind all that the steps before may have made readable
// (RNTupleFormat::end_of_readable).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "thalweg/format/rntuple/writing/blob_writer.h"
#include "thalweg/format/rntuple/writing/file_parts.h"

namespace thalweg::format::rntuple {

class FileEnding {
  public:
    // `parts.skeleton` has the beginning of the file. `writer` writes behind all pages.
    FileEnding(storage::Storage& file, FileParts const& parts, BlobWriter& writer, std::uint64_t seconds);

    // Adds the next table in the order of the skeleton, with all its clusters.
    void add_table(PageList list, SchemaDescription const& extension = {});

    // Makes the text that is kept beside the RNTuples, with the seal of all bytes around it.
    using MakeText = std::function<NamedText(FileSeal const&)>;

    // Does steps 2 to 7, and returns the size of the file. If `is_cut_last`, the caller gives the file that size
    // (model::RunFacts).
    std::uint64_t finish(MakeText const& make_text, bool is_cut_last = false) &&;

  private:
    storage::Storage& file_;
    FileParts const& parts_;
    BlobWriter& writer_;
    std::uint64_t seconds_;
    std::vector<Anchor> anchors_;
};

} // namespace thalweg::format::rntuple
