#include "thalweg/format/hdf5/item_reader.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"

namespace thalweg::format::hdf5 {

using model::Page;

ItemReader::ItemReader(storage::Storage const& file, storage::Storage const& journal, model::Column const& column,
                       std::string const& codec, std::string name)
    : file_(file), journal_(journal), item_bytes_(column.item_bytes()),
      codec_(codec::make_codec(codec::Spec::parse(codec), model::size_bytes(column.scalar))), name_(std::move(name)) {}

void ItemReader::read(std::span<Page const> pages, std::uint64_t first, std::uint64_t count,
                      std::span<std::byte> items) {
    try {
        for (auto const& piece : model::slice(pages, first, count)) {
            auto const raw = decoded(piece);
            auto const from = piece.skip * item_bytes_;
            auto const size_bytes = piece.count * item_bytes_;
            if (from + size_bytes > raw.size()) {
                base::fail_data({fmt::format("the page at offset {} has {} bytes", piece.offset, raw.size()),
                                 fmt::format("its record says that items lie up to {}", from + size_bytes)});
            }
            std::copy_n(raw.data() + from, size_bytes, items.data() + (piece.first - first) * item_bytes_);
        }
    } catch (base::DataError const& error) {
        base::fail_data({name_ + " cannot be read", error.what()});
    }
}

std::span<std::byte const> ItemReader::decoded(Page const& page) {
    if (!page_ || page_->offset != page.offset || page_->place != page.place) load(page);
    return page.encoded ? raw_ : stored_;
}

void ItemReader::load(Page const& page) {
    page_.reset();
    stored_.resize(page.stored_bytes);
    (page.place == Page::Place::file ? file_ : journal_).read(page.offset, stored_);
    if (page.checksum != 0 && base::xxh3(stored_) != page.checksum) {
        base::fail_data({fmt::format("the page at offset {} is damaged", page.offset), "its checksum does not fit"});
    }
    if (page.encoded) {
        raw_.resize(page.raw_bytes);
        codec_->decode(stored_, raw_);
    }
    page_ = page;
}

} // namespace thalweg::format::hdf5
