// The filters of our codecs, as libhdf5 knows them.
#pragma once

#include <hdf5.h>

#include <string>

namespace thalweg::format::hdf5 {

// Registers bitshuffle, lz4 and zstd with libhdf5, once; the other filters are its own.
void register_filters();

// Sets the filter pipeline of a codec, given by name, on the creation properties of a dataset.
void set_filters(hid_t creation, std::string const& codec, std::size_t element_bytes);

// The name of the codec that a dataset's filters make up, without those that `mask` names: bit i for filter i, as
// chunks have it that went through some of them only. Throws base::DataError for filters that we do not have.
std::string codec_of_filters(hid_t creation, std::size_t element_bytes, unsigned mask = 0);

// Chunks that did not shrink are stored raw: all their filters are masked out.
unsigned all_filters_mask(hid_t creation);

} // namespace thalweg::format::hdf5
