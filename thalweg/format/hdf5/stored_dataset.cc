#include "thalweg/format/hdf5/stored_dataset.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/format/hdf5/filters.h"
#include "thalweg/format/hdf5/types.h"

namespace thalweg::format::hdf5 {
namespace {

constexpr std::uint64_t kContiguousPageBytes = base::kMiB; // into which contiguous data is cut
// A page takes at least an entry in an index, but nothing where it was never written.
constexpr std::uint64_t kLeastBytesOfPage = 8;
constexpr std::uint64_t kFewPages = 1 << 16;

using Extents = std::vector<hsize_t>;

Extents extents_of(hid_t space) {
    auto const rank = H5Sget_simple_extent_ndims(space);
    Extents extents(rank > 0 ? static_cast<std::size_t>(rank) : 0);
    if (rank > 0) H5Sget_simple_extent_dims(space, extents.data(), nullptr);
    return extents;
}

} // namespace

StoredDataset::StoredDataset(ReadingFile& file, FileHandle const& handle, std::string const& path) : file_(file) {
    facts_.path = path;
    auto const what = "the dataset " + path + " cannot be read";
    dataset_ = {H5Dopen2(handle.get(), path.c_str(), H5P_DEFAULT), what};
    creation_ = {H5Dget_create_plist(dataset_.get()), what};
    layout_ = H5Pget_layout(creation_.get());
    read_type();
    read_extents();
    read_chunks();
}

void StoredDataset::refuse(std::string why, std::string suggestion) const {
    base::fail_data({"the dataset " + facts_.path + " cannot be read", std::move(why), std::move(suggestion)});
}

void StoredDataset::read_type() {
    TypeHandle const type(H5Dget_type(dataset_.get()), facts_.path + " has no type");
    auto const scalar = scalar_of_type(type.get());
    if (!scalar) refuse("its values are not of a type that Thalweg has");
    facts_.scalar = *scalar;
    facts_.item_bytes = model::size_bytes(*scalar);
}

void StoredDataset::read_extents() {
    SpaceHandle const space(H5Dget_space(dataset_.get()), facts_.path + " has no dataspace");
    auto const extents = extents_of(space.get());
    if (extents.empty()) refuse("it has no dimension along which there are rows");
    facts_.items = extents[0];
    facts_.shape.assign(extents.begin() + 1, extents.end());
    for (auto const extent : facts_.shape) {
        if (extent == 0 || facts_.item_bytes > (1ull << 32) / extent) refuse("the size of its items is out of range");
        facts_.item_bytes *= extent;
    }
}

void StoredDataset::read_chunks() {
    if (layout_ == H5D_VIRTUAL) refuse("it is virtual: what it shows lies elsewhere");
    if (layout_ == H5D_COMPACT) refuse("its values lie within metadata", "rewrite it with h5repack -l CONTI");
    facts_.page_items = std::max<std::uint64_t>(1, kContiguousPageBytes / facts_.item_bytes);
    facts_.codec = "none";
    if (layout_ != H5D_CHUNKED) return;
    Extents chunk(facts_.shape.size() + 1);
    check(H5Pget_chunk(creation_.get(), static_cast<int>(chunk.size()), chunk.data()), facts_.path + " has no chunks");
    if (!std::equal(chunk.begin() + 1, chunk.end(), facts_.shape.begin()) || chunk[0] == 0) {
        refuse("its chunks hold parts of rows", "rewrite it with h5repack -l CHUNK=...");
    }
    facts_.page_items = chunk[0];
    facts_.codec = codec_of_filters(creation_.get(), model::size_bytes(facts_.scalar));
    raw_mask_ = all_filters_mask(creation_.get());
}

GridPage StoredDataset::page(std::uint64_t page) {
    if (layout_ == H5D_CONTIGUOUS) return contiguous_page(page);
    Extents chunk(facts_.shape.size() + 1, 0);
    chunk[0] = page * facts_.page_items;
    std::uint32_t mask = 0;
    auto const result = H5Dread_chunk(dataset_.get(), H5P_DEFAULT, chunk.data(), &mask, ReadingFile::token());
    auto const location = file_.take_location();
    if (result < 0 || !location) {
        // Slow, but it tells a chunk that was never written from one that cannot be found.
        unsigned filters = 0;
        haddr_t address = 0;
        hsize_t size_bytes = 0;
        auto const asked = H5Dget_chunk_info_by_coord(dataset_.get(), chunk.data(), &filters, &address, &size_bytes);
        if (asked < 0 || address != HADDR_UNDEF) fail_hdf5(facts_.path + ": the index of its chunks cannot be read");
        H5Eclear2(H5E_DEFAULT);
        return {}; // never written
    }
    if (mask != 0 && mask != raw_mask_) refuse("one of its chunks lacks some of its filters, but not all");
    return {location->offset, location->size_bytes, std::nullopt, mask == 0 && raw_mask_ != 0};
}

GridPage StoredDataset::contiguous_page(std::uint64_t page) const {
    auto const offset = H5Dget_offset(dataset_.get());
    if (offset == HADDR_UNDEF) return {};
    if (H5Pget_external_count(creation_.get()) > 0) refuse("its values lie in another file");
    auto const first = page * facts_.page_items;
    auto const count = std::min(facts_.page_items, facts_.items - first);
    return {offset + first * facts_.item_bytes, count * facts_.item_bytes, std::nullopt, false};
}

// Before memory is taken for its pages: a damaged extent may be of any size.
void StoredDataset::check_size() const {
    auto const file_bytes = file_.storage().size();
    bool const fits = layout_ == H5D_CONTIGUOUS
                          ? facts_.items <= file_bytes / facts_.item_bytes
                          : facts_.items / facts_.page_items <= kFewPages + file_bytes / kLeastBytesOfPage;
    bool const is_empty = layout_ == H5D_CONTIGUOUS && H5Dget_offset(dataset_.get()) == HADDR_UNDEF;
    if (fits || (is_empty && facts_.items / facts_.page_items <= kFewPages)) return;
    refuse(fmt::format("it says that it has {} items of {} bytes, and the file has {} bytes in all", facts_.items,
                       facts_.item_bytes, file_bytes));
}

Dataset StoredDataset::read() {
    check_size();
    auto dataset = facts_;
    dataset.pages.reserve(page_count());
    for (std::uint64_t i = 0; i < page_count(); ++i) dataset.pages.push_back(page(i));
    return dataset;
}

} // namespace thalweg::format::hdf5
