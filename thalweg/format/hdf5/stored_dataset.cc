#include "thalweg/format/hdf5/stored_dataset.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/format/hdf5/filters.h"
#include "thalweg/format/hdf5/types.h"
#include "thalweg/format/tiles.h"

namespace thalweg::format::hdf5 {
namespace {

constexpr std::uint64_t kContiguousPageBytes = base::kMiB; // into which contiguous data is cut
constexpr std::uint64_t kMostItemBytes = std::uint64_t{1} << 32;
constexpr std::uint64_t kMostChunkBytes = std::uint64_t{1} << 32; // HDF5's own limit
// A page takes at least an entry in an index, but nothing where it was never written.
constexpr std::uint64_t kLeastBytesOfPage = 8;
constexpr std::uint64_t kFewPages = 1 << 16;
constexpr std::uint64_t kMostPagesAtOnce = 64; // whose places are looked up when a file is opened: a node of the index
constexpr std::size_t kMostCodecs = 255;       // that a page can name

// The address space is told where the chunk lies; from 2.0 on libhdf5 asks how much room there is.
herr_t locate_chunk(DatasetHandle const& dataset, hsize_t const* corner, std::uint32_t& mask) {
#if H5_VERSION_GE(2, 0, 0)
    std::size_t room_bytes = SIZE_MAX;
    return H5Dread_chunk2(dataset.get(), H5P_DEFAULT, corner, &mask, ReadingFile::token(), &room_bytes);
#else
    return H5Dread_chunk(dataset.get(), H5P_DEFAULT, corner, &mask, ReadingFile::token());
#endif
}

} // namespace

StoredDataset::StoredDataset(ReadingFile& file, FileHandle const& handle, std::string const& path) : file_(file) {
    facts_.path = path;
    auto const what = "the dataset " + path + " cannot be read";
    dataset_ = {H5Dopen2(handle.get(), path.c_str(), H5P_DEFAULT), what};
    creation_ = {H5Dget_create_plist(dataset_.get()), what};
    type_ = {H5Dget_type(dataset_.get()), path + " has no type"};
    layout_ = H5Pget_layout(creation_.get());
    read_type();
    read_extents();
    read_layout();
    read_fill();
}

void StoredDataset::refuse(std::string why, std::string suggestion) const {
    base::fail_data({"the dataset " + facts_.path + " cannot be read", std::move(why), std::move(suggestion)});
}

void StoredDataset::read_type() {
    auto type = stored_type(type_.get());
    if (!type) refuse("its values are not of a type that Thalweg has");
    facts_.scalar = type->scalar;
    facts_.big_endian = type->big_endian;
    facts_.shape = std::move(type->shape);
}

void StoredDataset::read_extents() {
    SpaceHandle const space(H5Dget_space(dataset_.get()), facts_.path + " has no dataspace");
    auto const rank = H5Sget_simple_extent_ndims(space.get());
    if (rank <= 0) refuse("it has no dimension along which there are rows");
    extents_.resize(static_cast<std::size_t>(rank));
    check(H5Sget_simple_extent_dims(space.get(), extents_.data(), nullptr), facts_.path + " has no extents");
    facts_.items = extents_[0];
    facts_.shape.insert(facts_.shape.begin(), extents_.begin() + 1, extents_.end()); // in front of those of an array
    facts_.item_bytes = model::size_bytes(facts_.scalar);
    for (auto const extent : facts_.shape) {
        if (extent == 0 || facts_.item_bytes > kMostItemBytes / extent) refuse("the size of its items is out of range");
        facts_.item_bytes *= extent;
    }
}

void StoredDataset::read_layout() {
    facts_.page_items = std::max<std::uint64_t>(1, kContiguousPageBytes / facts_.item_bytes);
    facts_.codec = "none";
    switch (layout_) {
    case H5D_COMPACT:
        return read_held();
    case H5D_CONTIGUOUS:
        if (H5Pget_external_count(creation_.get()) > 0) refuse_external();
        return;
    case H5D_CHUNKED:
        return read_chunks();
    default:
        refuse("it is virtual: what it shows lies elsewhere");
    }
}

// A file must not choose which other ones are read.
void StoredDataset::refuse_external() const {
    std::array<char, 4096> name{};
    off_t offset = 0;
    hsize_t size_bytes = 0;
    check(H5Pget_external(creation_.get(), 0, name.size() - 1, name.data(), &offset, &size_bytes),
          "the dataset " + facts_.path + " cannot be read");
    refuse(fmt::format("its values lie in another file, {}", name.data()),
           "Python reads it; thalweg convert makes a file of ours of it");
}

void StoredDataset::read_chunks() {
    chunk_.resize(extents_.size());
    auto const rank = H5Pget_chunk(creation_.get(), static_cast<int>(chunk_.size()), chunk_.data());
    check(rank, facts_.path + " has no chunks");
    // Along an array of a type a chunk is whole.
    model::Tiling tiling{{chunk_.begin() + 1, chunk_.end()}};
    tiling.shape.insert(tiling.shape.end(), facts_.shape.begin() + static_cast<std::ptrdiff_t>(tiling.shape.size()),
                        facts_.shape.end());
    facts_.page_items = chunk_[0];
    facts_.tile_values = facts_.item_bytes / model::size_bytes(facts_.scalar);
    if (tiling.shape != facts_.shape) {
        auto const grid = TileGrid::of(facts_.shape, tiling);
        if (!grid) refuse("the shape of its chunks is out of range");
        facts_.pages_a_band = grid->tiles();
        facts_.tile_values = grid->tile_values();
        facts_.tiling = std::move(tiling);
    }
    auto const item_bytes = facts_.tile_values * model::size_bytes(facts_.scalar);
    if (rank != static_cast<int>(chunk_.size()) || chunk_[0] == 0 || chunk_[0] > kMostChunkBytes / item_bytes) {
        refuse("the size of its chunks is out of range");
    }
    unsigned options = 0;
    check(H5Pget_chunk_opts(creation_.get(), &options), facts_.path + " has no chunks");
    partial_chunks_are_raw_ = (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0;
    facts_.codec = codec_of_filters(creation_.get(), model::size_bytes(facts_.scalar));
    all_filters_ = all_filters_mask(creation_.get());
    codecs_[0] = 0;
}

// Which the library's own default is zero.
void StoredDataset::read_fill() {
    facts_.has_fill = true;
    H5D_fill_value_t status = H5D_FILL_VALUE_ERROR;
    check(H5Pfill_value_defined(creation_.get(), &status), facts_.path + " has no fill value");
    if (status != H5D_FILL_VALUE_USER_DEFINED) return;
    auto const value_bytes = model::size_bytes(facts_.scalar);
    std::vector<std::byte> fill(H5Tget_size(type_.get()));
    check(H5Pget_fill_value(creation_.get(), type_.get(), fill.data()), facts_.path + " has no fill value");
    for (auto at = value_bytes; at < fill.size(); at += value_bytes) { // that of an array type is an array
        bool const same = std::equal(fill.begin(), fill.begin() + static_cast<std::ptrdiff_t>(value_bytes),
                                     fill.begin() + static_cast<std::ptrdiff_t>(at));
        if (!same) refuse("its fill value is an array of different values");
    }
    fill.resize(value_bytes);
    facts_.fill = std::move(fill);
}

// Compact: the values lie in the object's header, at no place that libhdf5 would tell.
void StoredDataset::read_held() {
    auto const stored_bytes = H5Dget_storage_size(dataset_.get());
    if (facts_.items > stored_bytes / facts_.item_bytes) {
        refuse(fmt::format("it says that it has {} items of {} bytes, and holds {} bytes", facts_.items,
                           facts_.item_bytes, stored_bytes));
    }
    auto& held = facts_.held.emplace(facts_.items * facts_.item_bytes);
    if (held.empty()) return;
    check(H5Dread(dataset_.get(), type_.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, held.data()),
          "the dataset " + facts_.path + " cannot be read");
}

StoredDataset::Extents StoredDataset::corner(std::uint64_t page) const {
    Extents corner(chunk_.size(), 0);
    corner[0] = page / facts_.pages_a_band * facts_.page_items;
    auto tile = page % facts_.pages_a_band;
    for (auto i = chunk_.size(); i-- > 1;) {
        auto const tiles = (extents_[i] + chunk_[i] - 1) / chunk_[i];
        corner[i] = tile % tiles * chunk_[i];
        tile /= tiles;
    }
    return corner;
}

bool StoredDataset::is_partial(Extents const& corner) const {
    for (std::size_t i = 0; i < corner.size(); ++i) {
        if (corner[i] + chunk_[i] > extents_[i]) return true;
    }
    return false;
}

// Tells a chunk that was never written, where it has just not been located, from one that cannot be found.
bool StoredDataset::was_never_written(Extents const& corner) const {
    // So say libhdf5 1.10 and 2.2 when the index has been searched in order. Other versions are asked again, in another
    // way, which takes as long as there are chunks.
    auto const failure = innermost_failure();
    bool const no_address = failure.message == "chunk address isn't defined";
    if (failure.function == "H5D__chunk_direct_read" && (no_address || failure.message == "storage is not initialized"))
        return true;
    unsigned filters = 0;
    haddr_t address = 0;
    hsize_t size_bytes = 0;
    auto const asked = H5Dget_chunk_info_by_coord(dataset_.get(), corner.data(), &filters, &address, &size_bytes);
    if (asked < 0) return false;
    H5Eclear2(H5E_DEFAULT);
    return address == HADDR_UNDEF;
}

Chunk StoredDataset::page(std::uint64_t page) {
    if (layout_ == H5D_CONTIGUOUS) return contiguous_page(page);
    auto const corner = this->corner(page);
    std::uint32_t mask = 0;
    auto const result = locate_chunk(dataset_, corner.data(), mask);
    auto const location = file_.take_location();
    if (result < 0 || !location) {
        if (!was_never_written(corner)) fail_hdf5(facts_.path + ": the index of its chunks cannot be read");
        return {};
    }
    mask &= all_filters_;
    if (partial_chunks_are_raw_ && is_partial(corner)) mask = all_filters_;
    if (mask == all_filters_) return {location->offset, location->size_bytes, std::nullopt, false};
    return {location->offset, location->size_bytes, std::nullopt, true, codec_without(mask)};
}

// Chunks may lack some of the filters: those that were optional and failed, or that the writer left out.
std::uint8_t StoredDataset::codec_without(unsigned mask) {
    if (auto const known = codecs_.find(mask); known != codecs_.end()) return known->second;
    auto& others = facts_.other_codecs;
    if (others.size() == kMostCodecs) refuse("its chunks lack filters in too many different ways");
    others.push_back(codec_of_filters(creation_.get(), model::size_bytes(facts_.scalar), mask));
    return codecs_[mask] = static_cast<std::uint8_t>(others.size());
}

Chunk StoredDataset::contiguous_page(std::uint64_t page) const {
    auto const offset = H5Dget_offset(dataset_.get());
    if (offset == HADDR_UNDEF) return {};
    auto const first = page * facts_.page_items;
    auto const count = std::min(facts_.page_items, facts_.items - first);
    return {offset + first * facts_.item_bytes, count * facts_.item_bytes, std::nullopt, false};
}

// Before memory is taken for its pages: a damaged extent may be of any size.
void StoredDataset::check_size() const {
    auto const file_bytes = file_.storage().size();
    auto const most_pages = kFewPages + file_bytes / kLeastBytesOfPage;
    bool const fits = layout_ == H5D_CONTIGUOUS ? facts_.items <= file_bytes / facts_.item_bytes
                                                : facts_.items / facts_.page_items <= most_pages / facts_.pages_a_band;
    bool const is_empty = layout_ == H5D_CONTIGUOUS && H5Dget_offset(dataset_.get()) == HADDR_UNDEF;
    if (fits || (is_empty && facts_.items / facts_.page_items <= kFewPages)) return;
    refuse(fmt::format("it says that it has {} items of {} bytes, and the file has {} bytes in all", facts_.items,
                       facts_.item_bytes, file_bytes));
}

// What is being written is read at once: later the file would be another one.
Dataset StoredDataset::read_or_leave() {
    if (layout_ != H5D_CHUNKED || page_count() <= kMostPagesAtOnce || !file_.keeps_reads()) return read();
    check_size();
    auto dataset = facts_;
    dataset.later = true;
    return dataset;
}

Dataset StoredDataset::read(std::uint64_t first, std::uint64_t count) {
    if (facts_.held) return facts_;
    check_size();
    first = std::min(first, facts_.items);
    auto const end = first + std::min(count, facts_.items - first);
    auto const first_page = first / facts_.page_items * facts_.pages_a_band;
    auto const end_page = (end + facts_.page_items - 1) / facts_.page_items * facts_.pages_a_band;
    std::vector<Chunk> pages;
    pages.reserve(end_page - std::min(first_page, end_page));
    for (auto i = first_page; i < end_page; ++i) pages.push_back(page(i));
    auto dataset = facts_; // with the codecs that the pages have
    dataset.pages = std::move(pages);
    dataset.first_page = first_page;
    return dataset;
}

} // namespace thalweg::format::hdf5
