// How HDF5 names what a codec does. It is plain data: code that links libhdf5 makes a property list of it.
#pragma once

#include "thalweg/codec/codec.h"

#include <vector>

namespace thalweg::codec {

struct Hdf5Filter {
    unsigned id = 0;
    std::string name; // as registered; readers show it where they lack the filter
    std::vector<unsigned> cd_values;
    bool operator==(Hdf5Filter const&) const = default;
};

// In the order in which they are applied to a page that is written.
std::vector<Hdf5Filter> filter_pipeline(Spec const& spec, std::size_t element_bytes);

// The inverse; names are ignored, and a compression's default level becomes level 0. Throws base::DataError about
// filters, orders and parameters that no Spec stands for.
Spec spec_of_filters(std::vector<Hdf5Filter> const& filters, std::size_t element_bytes);

// The name of a codec that undoes these filters: a Spec's where there is one, else that of a pipeline
// (hdf5_pipeline.h). Throws base::DataError as `spec_of_filters` does.
std::string codec_of_filters(std::vector<Hdf5Filter> const& filters, std::size_t element_bytes);

} // namespace thalweg::codec
