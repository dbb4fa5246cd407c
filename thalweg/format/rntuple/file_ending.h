// The metadata behind all pages, and the order of writes in which a file becomes complete.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "thalweg/format/rntuple/blob_writer.h"
#include "thalweg/format/rntuple/file_parts.h"

namespace thalweg::format::rntuple {

class FileEnding {
  public:
    // `parts.skeleton` is what the file begins with; `writer` writes behind all pages.
    FileEnding(storage::Storage& file, FileParts const& parts, BlobWriter& writer, std::uint64_t seconds);

    // Of the next table in the order of the skeleton: all its clusters.
    void add_table(PageList list, SchemaDescription const& extension = {});

    // The text that is kept beside the RNTuples, with the seal of everything around it.
    using MakeText = std::function<NamedText(FileSeal const&)>;

    // Everything becomes durable before the anchors refer to it, and these before the first sector, which says that the
    // file is complete. Returns the size of the file, which it gets before that or, as RunFacts has it, last.
    std::uint64_t finish(MakeText const& make_text, bool is_cut_last = false) &&;

  private:
    storage::Storage& file_;
    FileParts const& parts_;
    BlobWriter& writer_;
    std::uint64_t seconds_;
    std::vector<Anchor> anchors_;
};

} // namespace thalweg::format::rntuple
