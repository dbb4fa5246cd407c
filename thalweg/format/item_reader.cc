#include "thalweg/format/item_reader.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

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
            auto const at = (piece.first - first) * column_.item_bytes();
            copy(pages, piece, items.subspan(at, piece.count * column_.item_bytes()));
        }
    } catch (base::DataError const& error) {
        base::fail_data({name_ + " cannot be read", error.what()});
    }
}

void ItemReader::copy(std::span<Page const> pages, Page const& piece, std::span<std::byte> items) {
    auto sum = piece.sums ? sum_before(pages, piece) : 0;
    auto const raw = decoded(piece);
    auto const from = piece.skip * column_.item_bytes();
    if (from + items.size() > raw.size()) {
        base::fail_data({fmt::format("the page at offset {} has {} bytes", piece.offset, raw.size()),
                         fmt::format("its record says that items lie up to {}", from + items.size())});
    }
    std::copy_n(raw.data() + from, items.size(), items.data());
    if (!piece.sums) return;
    for (std::size_t at = 0; at < items.size(); at += sizeof sum) {
        std::uint64_t value;
        std::memcpy(&value, items.data() + at, sizeof value);
        if (value < sum)
            base::fail_data({fmt::format("the page at offset {} is wrong", piece.offset), "its sums fall"});
        auto const length = value - std::exchange(sum, value);
        std::memcpy(items.data() + at, &length, sizeof length);
    }
    next_item_ = piece.first + piece.count;
    next_cluster_ = piece.cluster;
    last_sum_ = sum;
}

// The sum at the end of the item in front of the piece: 0 where its cluster begins.
std::uint64_t ItemReader::sum_before(std::span<Page const> pages, Page const& piece) {
    if (piece.first == next_item_ && piece.cluster == next_cluster_) return last_sum_;
    auto const value_at = [&](Page const& page, std::uint64_t item) {
        std::uint64_t value;
        auto const at = (page.skip + item - page.first + 1) * column_.item_bytes() - sizeof value;
        std::memcpy(&value, decoded(page).subspan(at).first<sizeof value>().data(), sizeof value);
        return value;
    };
    if (piece.skip > 0) {
        auto page = piece;
        page.first -= page.skip;
        page.skip = 0;
        return value_at(page, piece.first - 1);
    }
    auto const after = std::lower_bound(pages.begin(), pages.end(), piece.first,
                                        [](Page const& page, std::uint64_t item) { return page.first < item; });
    if (after == pages.begin()) return 0;
    auto const& before = *(after - 1);
    if (!before.sums || before.cluster != piece.cluster) return 0;
    return value_at(before, before.first + before.count - 1);
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
