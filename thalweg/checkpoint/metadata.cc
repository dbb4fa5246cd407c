#include "thalweg/checkpoint/metadata.h"

#include <fmt/format.h>

#include "thalweg/format/hdf5/attribute_values.h"
#include "thalweg/format/hdf5/driver.h"
#include "thalweg/format/hdf5/filters.h"
#include "thalweg/format/hdf5/object_creation.h"
#include "thalweg/format/hdf5/types.h"

namespace thalweg::checkpoint {
namespace {

using namespace format::hdf5;
using format::hdf5::ours::ClaimingFile;

std::vector<hsize_t> extents_of(PerAxis const& shape) { return {shape.begin(), shape.end()}; }

SpaceHandle space_of(PerAxis const& shape) {
    auto const extents = extents_of(shape);
    if (shape.empty()) return {H5Screate(H5S_SCALAR), "a dataspace cannot be made"};
    return {H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), "a dataspace cannot be made"};
}

DatasetHandle create_dataset(std::string const& path, model::Scalar scalar, hid_t space, hid_t creation,
                             FileHandle const& handle) {
    make_groups_above(handle, path);
    return {H5Dcreate2(handle.get(), path.c_str(), make_type(scalar).get(), space, link_properties(), creation,
                       H5P_DEFAULT),
            "the dataset " + path + " cannot be made"};
}

PropertyHandle creation_of(H5D_alloc_time_t allocation) {
    auto creation = creation_properties(H5P_DATASET_CREATE);
    check(H5Pset_alloc_time(creation.get(), allocation), "the allocation time cannot be set");
    check(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), "the fill time cannot be set");
    return creation;
}

// Its pages lie one behind the other.
void link_contiguous(std::string const& path, StoredArray const& array, ArrayPart const& part, FileHandle const& handle,
                     ClaimingFile& file) {
    auto const creation = creation_of(H5D_ALLOC_TIME_EARLY);
    auto const bytes = part.box.count() * model::size_bytes(array.scalar);
    if (bytes > 0) file.arm({part.pages.at(0).offset, bytes});
    create_dataset(path, array.scalar, space_of(part.box.shape).get(), creation.get(), handle);
    if (bytes > 0) file.disarm_allocated();
}

void link_chunked(std::string const& path, StoredArray const& array, ArrayPart const& part, FileHandle const& handle,
                  ClaimingFile& file) {
    auto const creation = creation_of(H5D_ALLOC_TIME_INCR);
    auto const chunk = extents_of(part.chunk);
    check(H5Pset_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data()), "the chunks cannot be set");
    set_filters(creation.get(), array.codec, model::size_bytes(array.scalar));
    auto const object = create_dataset(path, array.scalar, space_of(part.box.shape).get(), creation.get(), handle);
    auto const raw_mask = all_filters_mask(creation.get());
    for (auto const& page : part.pages) {
        std::vector<hsize_t> at;
        for (std::size_t axis = 0; axis < chunk.size(); ++axis) {
            at.push_back(page.box.start[axis] - part.box.start[axis]);
        }
        file.arm({page.offset, page.stored_bytes});
        check(H5Dwrite_chunk(object.get(), H5P_DEFAULT, page.encoded ? 0 : raw_mask, at.data(), page.stored_bytes,
                             ClaimingFile::token()),
              "a page of " + path + " cannot be linked");
        file.disarm();
    }
}

void link_part(std::string const& path, StoredArray const& array, ArrayPart const& part, FileHandle const& handle,
               ClaimingFile& file) {
    if (part.chunk.empty()) return link_contiguous(path, array, part, handle, file);
    link_chunked(path, array, part, handle, file);
}

// In the same group, so that the group can be copied as it is.
std::string part_path(std::string const& name, std::size_t number) {
    auto const slash = name.rfind('/');
    auto const split = slash == name.npos ? 0 : slash + 1;
    return fmt::format("/{}.parts/{}/{}", name.substr(0, split), name.substr(split), number);
}

void link_virtual(StoredArray const& array, FileHandle const& handle) {
    auto const creation = creation_properties(H5P_DATASET_CREATE);
    auto const space = space_of(array.shape);
    for (std::size_t i = 0; i < array.parts.size(); ++i) {
        auto const& box = array.parts[i].box;
        auto const start = extents_of(box.start), count = extents_of(box.shape);
        check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
              "a block cannot be selected");
        auto const source = space_of(box.shape);
        check(H5Pset_virtual(creation.get(), space.get(), ".", part_path(array.name, i).c_str(), source.get()),
              "a block cannot be shown in " + array.name);
    }
    check(H5Sselect_all(space.get()), "a virtual dataset cannot be selected");
    create_dataset("/" + array.name, array.scalar, space.get(), creation.get(), handle);
}

void link_array(StoredArray const& array, FileHandle const& handle, ClaimingFile& file) {
    if (!array.is_virtual) return link_part("/" + array.name, array, array.parts.at(0), handle, file);
    for (std::size_t i = 0; i < array.parts.size(); ++i) {
        link_part(part_path(array.name, i), array, array.parts[i], handle, file);
    }
    link_virtual(array, handle);
}

void write_attributes(model::Attributes const& attributes, FileHandle const& handle) {
    ObjectHandle const root(H5Oopen(handle.get(), "/", H5P_DEFAULT), "the root cannot be opened");
    for (auto const& attribute : attributes) write_attribute(root.get(), attribute);
}

} // namespace

ClaimingFile make_metadata(std::string const& path, std::vector<StoredArray> const& arrays,
                           model::Attributes const& attributes, std::uint64_t begin) {
    LibraryLock const lock;
    ClaimingFile file(begin);
    auto handle = create_file(file, path);
    for (auto const& array : arrays) link_array(array, handle, file);
    write_attributes(attributes, handle);
    handle.close(path + " cannot be made an HDF5 file");
    return file;
}

} // namespace thalweg::checkpoint
