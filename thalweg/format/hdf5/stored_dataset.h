// Datasets of a file, as HDF5's own metadata has them.
#pragma once

#include "thalweg/format/hdf5/plan.h"
#include "thalweg/format/hdf5/reading_file.h"

namespace thalweg::format::hdf5 {

// One open dataset. Every error names the file and the dataset.
class StoredDataset {
  public:
    // Throws base::DataError where it is not of a kind that can be read: one or more dimensions, a type of ours, whole
    // items in every chunk, known filters.
    StoredDataset(ReadingFile& file, FileHandle const& handle, std::string const& path);

    // All but its pages.
    Dataset const& facts() const { return facts_; }

    // The page that holds the items from page * page_items on, by HDF5's index. In every version of libhdf5 it costs
    // the same wherever the page is.
    GridPage page(std::uint64_t page);
    std::uint64_t page_count() const { return (facts_.items + facts_.page_items - 1) / facts_.page_items; }

    // With all its pages.
    Dataset read();

  private:
    [[noreturn]] void refuse(std::string why, std::string suggestion = {}) const;
    void read_type();
    void read_extents();
    void read_chunks();
    void check_size() const;
    GridPage contiguous_page(std::uint64_t page) const;

    ReadingFile& file_;
    Dataset facts_;
    DatasetHandle dataset_;
    PropertyHandle creation_;
    H5D_layout_t layout_ = H5D_COMPACT;
    unsigned raw_mask_ = 0;
};

} // namespace thalweg::format::hdf5
