// Reads single items of a column, wherever their pages lie: in the file, or still in the journal.
#pragma once

#include <optional>
#include <string>

#include "thalweg/format/page_decoder.h"
#include "thalweg/model/column.h"
#include "thalweg/model/page.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format {

class ItemReader {
  public:
    // `name` is the column's, for errors: "table 'ch0', column 'energy'".
    ItemReader(storage::Storage const& file, storage::Storage const& journal, model::Column const& column,
               std::string codec, std::string name);

    // Lengths columns give lengths, also from pages of sums (those of a journal, which know what
    // they begin with). Throws base::DataError where an item is in no page, or a
    // page is not what its checksum says.
    void read(std::span<model::Page const> pages, std::uint64_t first, std::uint64_t count, std::span<std::byte> items);

  private:
    std::span<std::byte const> decoded(model::Page const& page);
    void copy(model::Page const& piece, std::span<std::byte> items);

    storage::Storage const& file_;
    storage::Storage const& journal_;
    model::Column const& column_;
    std::string codec_;
    std::string name_;
    PageDecoder decoder_;
    // The last page stays: the next items mostly follow.
    std::optional<model::Page> page_;
    std::span<std::byte const> raw_;
};

} // namespace thalweg::format
