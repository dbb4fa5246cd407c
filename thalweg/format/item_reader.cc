#include "thalweg/format/item_reader.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/error.h"

namespace thalweg::format {

using model::Page;

ItemReader::ItemReader(storage::Storage const& file, storage::Storage const& journal, model::Column const& column,
                       std::string const& codec, std::string name)
    : file_(file), journal_(journal), column_(column), codec_(codec), name_(std::move(name)) {}

void ItemReader::read(std::span<Page const> pages, std::uint64_t first, std::uint64_t count,
                      std::span<std::byte> items) {
    try {
        for (auto const& piece : model::slice(pages, first, count)) {
            auto const raw = decoded(piece);
            auto const from = piece.skip * column_.item_bytes();
            auto const size_bytes = piece.count * column_.item_bytes();
            if (from + size_bytes > raw.size()) {
                base::fail_data({fmt::format("the page at offset {} has {} bytes", piece.offset, raw.size()),
                                 fmt::format("its record says that items lie up to {}", from + size_bytes)});
            }
            std::copy_n(raw.data() + from, size_bytes, items.data() + (piece.first - first) * column_.item_bytes());
        }
    } catch (base::DataError const& error) {
        base::fail_data({name_ + " cannot be read", error.what()});
    }
}

std::span<std::byte const> ItemReader::decoded(Page const& page) {
    if (page_ && page_->offset == page.offset && page_->place == page.place) return raw_;
    page_.reset(); // the decoder's memory is another page's from now on
    raw_ = decoder_.raw(page, page.place == Page::Place::file ? file_ : journal_, column_, codec_, true);
    page_ = page;
    return raw_;
}

} // namespace thalweg::format
