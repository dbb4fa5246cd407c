#include "thalweg/format/hdf5/driver.h"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#include <memory>

#include "thalweg/format/hdf5/object_creation.h"

namespace thalweg::format::hdf5 {
namespace {

struct DriverFile {
    H5FD_t library_part{}; // first: libhdf5 knows the file by a pointer to it
    AddressSpace* space = nullptr;
};

struct DriverInfo {
    AddressSpace* space = nullptr;
};

AddressSpace& space_of(H5FD_t const* file) { return *reinterpret_cast<DriverFile const*>(file)->space; }

// Runs `work`, which may throw, inside a callback of libhdf5, which must not.
template <typename Result, typename Work> Result guarded(Result failed, Work const& work) noexcept {
    try {
        return work();
    } catch (...) {
        keep_failure(std::current_exception());
        return failed;
    }
}

H5FD_t* open(char const*, unsigned, hid_t access, haddr_t) {
    auto const* info = static_cast<DriverInfo const*>(H5Pget_driver_info(access));
    if (info == nullptr) return nullptr;
    auto file = std::make_unique<DriverFile>();
    file->space = info->space;
    return &file.release()->library_part;
}

herr_t close(H5FD_t* file) {
    delete reinterpret_cast<DriverFile*>(file);
    return 0;
}

herr_t query(H5FD_t const*, unsigned long* features) {
    *features = 0; // no aggregation and no sieving: every allocation and every write is seen as it is
    return 0;
}

haddr_t allocate(H5FD_t* file, H5FD_mem_t type, hid_t, hsize_t size_bytes) {
    return guarded(HADDR_UNDEF, [&] { return space_of(file).allocate(type, size_bytes); });
}

// What is freed is not used again: nothing live may be overwritten in place.
herr_t release(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, hsize_t) { return 0; }

haddr_t get_allocated_end(H5FD_t const* file, H5FD_mem_t) { return space_of(file).allocated_end(); }

herr_t set_allocated_end(H5FD_t* file, H5FD_mem_t, haddr_t end) {
    space_of(file).set_allocated_end(end);
    return 0;
}

haddr_t get_file_end(H5FD_t const* file, H5FD_mem_t) { return space_of(file).file_end(); }

herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t offset, std::size_t size_bytes, void* bytes) {
    return guarded(herr_t{-1}, [&] {
        space_of(file).read(offset, {static_cast<std::byte*>(bytes), size_bytes});
        return herr_t{0};
    });
}

herr_t write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t offset, std::size_t size_bytes, void const* bytes) {
    return guarded(herr_t{-1}, [&] {
        space_of(file).write(offset, {static_cast<std::byte const*>(bytes), size_bytes});
        return herr_t{0};
    });
}

// Pages may lie where libhdf5 sees nothing: never shorten the file for it.
herr_t truncate(H5FD_t*, hid_t, hbool_t) { return 0; }

H5FD_class_t const kClass = {
#if H5_VERSION_GE(1, 13, 0)
    .version = H5FD_CLASS_VERSION,
    .value = static_cast<H5FD_class_value_t>(600), // up to 511 they are registered, above they are for private use
#endif
    .name = "thalweg",
    .maxaddr = HADDR_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(DriverInfo),
    .open = open,
    .close = close,
    .query = query,
    .alloc = allocate,
    .free = release,
    .get_eoa = get_allocated_end,
    .set_eoa = set_allocated_end,
    .get_eof = get_file_end,
    .read = read,
    .write = write,
    .truncate = truncate,
    // What is freed of metadata is given out again by libhdf5 itself, but not for pages: those ask `alloc`.
    .fl_map = {H5FD_MEM_SUPER, H5FD_MEM_SUPER, H5FD_MEM_SUPER, H5FD_MEM_DRAW, H5FD_MEM_SUPER, H5FD_MEM_SUPER,
               H5FD_MEM_SUPER},
};

PropertyHandle file_access(AddressSpace& space) {
    static hid_t const driver = H5FDregister(&kClass);
    PropertyHandle access(H5Pcreate(H5P_FILE_ACCESS), "the properties of an HDF5 file cannot be made");
    DriverInfo const info{&space};
    check(H5Pset_driver(access.get(), driver, &info), "the file driver cannot be set");
    // HDF5 1.10 reads what these bounds allow, and its indexes of chunks are checksummed.
    check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), "the version bounds cannot be set");
    check(H5Pset_cache(access.get(), 0, 0, 0, 0), "the chunk cache cannot be switched off"); // pages pass it by
    return access;
}

} // namespace

FileHandle create_file(AddressSpace& space, std::string const& path, UserBlock const& user_block) {
    auto const access = file_access(space);
    auto const creation = creation_properties(H5P_FILE_CREATE);
    if (user_block.size_bytes > 0) {
        check(H5Pset_userblock(creation.get(), user_block.size_bytes), "the user block cannot be set");
        check(H5Pset_istore_k(creation.get(), user_block.chunk_tree_rank), "the rank of trees cannot be set");
    }
    return {H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()),
            path + " cannot be made an HDF5 file"};
}

FileHandle open_file(AddressSpace& space, std::string const& path) {
    auto const access = file_access(space);
    return {H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), path + " does not open as an HDF5 file"};
}

} // namespace thalweg::format::hdf5
