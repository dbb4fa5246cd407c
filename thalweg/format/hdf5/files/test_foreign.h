// For tests: files as other programs make them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thalweg/format/hdf5/filters.h"
#include "thalweg/format/hdf5/plain_attributes.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format::hdf5::files {

template <typename Value> std::vector<std::byte> bytes_of(std::vector<Value> const& values) {
    auto const bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

// A file that libhdf5 makes with its own driver, in memory.
class ForeignFile {
  public:
    ForeignFile() {
        PropertyHandle const access(H5Pcreate(H5P_FILE_ACCESS), "access");
        check(H5Pset_fapl_core(access.get(), 1 << 16, false), "core driver");
        handle_ = {H5Fcreate("foreign.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), "create"};
    }

    // Numbers of the machine's own type, stored as `type`.
    template <typename Value>
    void dataset(std::string const& path, hid_t type, std::vector<Value> const& values, std::vector<hsize_t> extents,
                 std::vector<hsize_t> const& chunk = {}, std::string const& codec = "none") {
        auto const object = create(path, type, extents, [&](hid_t creation) {
            if (!chunk.empty()) H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
            if (!chunk.empty()) set_filters(creation, codec, sizeof(Value));
        });
        write(object, values);
    }

    // `set` has the creation properties to itself.
    DatasetHandle create(std::string const& path, hid_t type, std::vector<hsize_t> const& extents,
                         std::function<void(hid_t)> const& set) {
        PropertyHandle const links(H5Pcreate(H5P_LINK_CREATE), "links");
        H5Pset_create_intermediate_group(links.get(), 1);
        PropertyHandle const creation(H5Pcreate(H5P_DATASET_CREATE), "creation");
        set(creation.get());
        // Chunks may be larger than that.
        std::vector<hsize_t> const most(extents.size(), H5S_UNLIMITED);
        bool const chunked = H5Pget_layout(creation.get()) == H5D_CHUNKED;
        SpaceHandle const space(
            H5Screate_simple(static_cast<int>(extents.size()), extents.data(), chunked ? most.data() : nullptr),
            "space");
        return {H5Dcreate2(handle_.get(), path.c_str(), type, space.get(), links.get(), creation.get(), H5P_DEFAULT),
                "dataset"};
    }

    template <typename Value> static void write(DatasetHandle const& object, std::vector<Value> const& values) {
        TypeHandle const stored(H5Dget_type(object.get()), "type");
        TypeHandle const native(H5Tget_native_type(stored.get(), H5T_DIR_ASCEND), "native type");
        check(H5Dwrite(object.get(), native.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "write");
    }

    // In chunks of 100, none of which is ever written.
    void unwritten(std::string const& path, hsize_t items) {
        hsize_t const chunk = 100;
        create(path, H5T_NATIVE_INT32, {items}, [&](hid_t creation) { H5Pset_chunk(creation, 1, &chunk); });
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

} // namespace thalweg::format::hdf5::files
