// Datasets of a file, as HDF5's own metadata has them.
#pragma once

#include <limits>
#include <map>

#include "thalweg/format/hdf5/dataset.h"
#include "thalweg/format/hdf5/reading_file.h"

namespace thalweg::format::hdf5 {

// One open dataset. Every error names the file and the dataset.
class StoredDataset {
  public:
    // Throws base::DataError where it is not of a kind that can be read: one or more dimensions, a type of ours, known
    // filters.
    StoredDataset(ReadingFile& file, FileHandle const& handle, std::string const& path);

    // All but its pages.
    Dataset const& facts() const { return facts_; }

    // A page by HDF5's index: of the items from page * page_items on, or a tile of them. In every version of libhdf5 it
    // costs the same wherever the page is.
    Chunk page(std::uint64_t page);
    std::uint64_t page_count() const { return bands() * facts_.pages_a_band; }

    // With all its pages, or with those of `count` items from `first` on.
    Dataset read(std::uint64_t first = 0, std::uint64_t count = std::numeric_limits<std::uint64_t>::max());
    // With all its pages where they are soon found; else they are left for later.
    Dataset read_or_leave();

  private:
    using Extents = std::vector<hsize_t>;

    [[noreturn]] void refuse(std::string why, std::string suggestion = {}) const;
    [[noreturn]] void refuse_external() const;
    void read_type();
    void read_extents();
    void read_layout();
    void read_chunks();
    void read_fill();
    void read_held();
    void check_size() const;
    std::uint64_t bands() const { return (facts_.items + facts_.page_items - 1) / facts_.page_items; }
    Extents corner(std::uint64_t page) const;
    bool is_partial(Extents const& corner) const;
    bool was_never_written(Extents const& corner) const;
    std::uint8_t codec_without(unsigned mask);
    Chunk contiguous_page(std::uint64_t page) const;

    ReadingFile& file_;
    Dataset facts_;
    DatasetHandle dataset_;
    PropertyHandle creation_;
    TypeHandle type_;
    H5D_layout_t layout_ = H5D_COMPACT;
    Extents extents_;
    Extents chunk_;                       // of chunked datasets
    bool partial_chunks_are_raw_ = false; // which reach beyond the extents
    unsigned all_filters_ = 0;
    std::map<unsigned, std::uint8_t> codecs_; // by mask
};

} // namespace thalweg::format::hdf5
