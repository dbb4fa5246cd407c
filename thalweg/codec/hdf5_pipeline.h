// Pipelines of HDF5 filters that no Spec describes: with checksums among the filters, or with elements of another size
// than a value has (for an array type, the whole array). They are for reading only.
#pragma once

#include "thalweg/codec/codec.h"

#include <vector>

namespace thalweg::codec {

// One stage of a pipeline. Stages are in the order in which chunks went through them.
struct PipelineStage {
    bool is_checksum = false; // fletcher32
    Spec spec;
    std::size_t element_bytes = 0;
};

// "hdf5:fletcher32|shuffle+deflate/40": stages, where elements are not of `element_bytes` each with its own. Where that
// is one Spec of this size, or nothing, it is the Spec's name.
std::string pipeline_name(std::vector<PipelineStage> const& stages, std::size_t element_bytes);

bool is_hdf5_pipeline(std::string_view name);

// Throws base::UsageError for what is no such name.
std::unique_ptr<Codec> make_hdf5_pipeline(std::string_view name, std::size_t element_bytes);

} // namespace thalweg::codec
