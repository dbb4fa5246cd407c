#include "thalweg/format/item_reader.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"

namespace thalweg::format {

using model::Page;

ItemReader::ItemReader(storage::Storage const& file, storage::Storage const& journal, model::Column const& column,
                       std::string codec, std::string name)
    : file_(file), journal_(journal), column_(column), codec_(std::move(codec)), name_(std::move(name)) {}

void ItemReader::read(std::span<Page const> pages, std::uint64_t first, std::uint64_t count,
                      std::span<std::byte> items) {
    try {
        auto next = first;
        for (auto const& piece : model::slice(pages, first, count)) {
            THALWEG_ASSERT(piece.first == next, "the pieces of a request follow each other");
            next += piece.count;
            auto const at = (piece.first - first) * column_.item_bytes();
            copy(piece, items.subspan(at, piece.count * column_.item_bytes()));
        }
    } catch (base::DataError const& error) {
        base::fail_data({name_ + " cannot be read", error.what()});
    }
}

void ItemReader::copy(Page const& piece, std::span<std::byte> items) {
    auto const raw = decoded(piece);
    auto const from = piece.skip * column_.item_bytes();
    if (from + items.size() > raw.size()) {
        base::fail_data({fmt::format("the page at offset {} has {} bytes", piece.offset, raw.size()),
                         fmt::format("its record says that items lie up to {}", from + items.size())});
    }
    std::copy_n(raw.data() + from, items.size(), items.data());
    if (!piece.sums) return;
    auto sum = piece.sum_before.value_or(0);
    if (from > 0) std::memcpy(&sum, raw.data() + from - sizeof sum, sizeof sum);
    for (std::size_t at = 0; at < items.size(); at += sizeof sum) {
        std::uint64_t value;
        std::memcpy(&value, items.data() + at, sizeof value);
        if (value < sum)
            base::fail_data({fmt::format("the page at offset {} is wrong", piece.offset), "its sums fall"});
        auto const length = value - std::exchange(sum, value);
        std::memcpy(items.data() + at, &length, sizeof length);
    }
}

std::span<std::byte const> ItemReader::decoded(Page const& page) {
    if (page_ && page_->offset == page.offset && page_->place == page.place) return raw_;
    page_.reset(); // the decoder's memory is another page's from now on
    raw_ = decoder_.raw(page, page.place == Page::Place::file ? file_ : journal_,
                        {column_.scalar, column_.item_bytes()}, codec_, true);
    page_ = page;
    return raw_;
}

} // namespace thalweg::format
