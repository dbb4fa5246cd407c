// For tests: files as other programs make them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/format/hdf5/attributes.h"
#include "thalweg/format/hdf5/filters.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format::hdf5 {

// A file that libhdf5 makes with its own driver, in memory.
class ForeignFile {
  public:
    ForeignFile() {
        PropertyHandle const access(H5Pcreate(H5P_FILE_ACCESS), "access");
        check(H5Pset_fapl_core(access.get(), 1 << 16, false), "core driver");
        handle_ = {H5Fcreate("foreign.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), "create"};
    }

    template <typename Value>
    void dataset(std::string const& path, hid_t type, std::vector<Value> const& values, std::vector<hsize_t> extents,
                 std::vector<hsize_t> const& chunk = {}, std::string const& codec = "none") {
        PropertyHandle const links(H5Pcreate(H5P_LINK_CREATE), "links");
        H5Pset_create_intermediate_group(links.get(), 1);
        PropertyHandle const creation(H5Pcreate(H5P_DATASET_CREATE), "creation");
        if (!chunk.empty()) H5Pset_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data());
        if (!chunk.empty()) set_filters(creation.get(), codec, sizeof(Value));
        SpaceHandle const space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), "space");
        DatasetHandle const object(
            H5Dcreate2(handle_.get(), path.c_str(), type, space.get(), links.get(), creation.get(), H5P_DEFAULT),
            "dataset");
        check(H5Dwrite(object.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "write");
    }

    // In chunks of 100, none of which is ever written.
    void unwritten(std::string const& path, hsize_t items) {
        PropertyHandle const links(H5Pcreate(H5P_LINK_CREATE), "links");
        H5Pset_create_intermediate_group(links.get(), 1);
        PropertyHandle const creation(H5Pcreate(H5P_DATASET_CREATE), "creation");
        hsize_t const chunk = 100;
        H5Pset_chunk(creation.get(), 1, &chunk);
        SpaceHandle const space(H5Screate_simple(1, &items, nullptr), "space");
        DatasetHandle const object(H5Dcreate2(handle_.get(), path.c_str(), H5T_NATIVE_INT32, space.get(), links.get(),
                                              creation.get(), H5P_DEFAULT),
                                   "dataset");
    }

    void attribute(std::string const& path, std::string const& name, std::string const& value) {
        ObjectHandle const object(H5Oopen(handle_.get(), path.c_str(), H5P_DEFAULT), "object");
        write_text(object.get(), name, value);
    }

    std::unique_ptr<storage::Storage> storage() {
        H5Fflush(handle_.get(), H5F_SCOPE_GLOBAL);
        std::vector<std::byte> image(static_cast<std::size_t>(H5Fget_file_image(handle_.get(), nullptr, 0)));
        H5Fget_file_image(handle_.get(), image.data(), image.size());
        auto file = storage::make_memory_storage("foreign.h5");
        file->write(0, image);
        return file;
    }

  private:
    LibraryLock lock_;
    FileHandle handle_;
};

} // namespace thalweg::format::hdf5
