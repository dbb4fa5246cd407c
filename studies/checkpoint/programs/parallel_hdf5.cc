// Saves with parallel HDF5, independently and collectively.
#include "strategies.h"

#ifdef STUDY_HAS_HDF5
#include <hdf5.h>

namespace {

hid_t access_over(MPI_Info info) {
    auto const access = H5Pcreate(H5P_FILE_ACCESS);
    require(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, info), "no parallel HDF5");
    require(H5Pset_alignment(access, 65536, 4096), "no alignment");
    return access;
}

MPI_File handle_of(hid_t file) {
    MPI_File* handle = nullptr;
    require(H5Fget_vfd_handle(file, H5P_DEFAULT, reinterpret_cast<void**>(&handle)), "no MPI file");
    return *handle;
}

hid_t create_dataset(hid_t file, hsize_t count) {
    auto const space = H5Screate_simple(1, &count, nullptr);
    auto const creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    auto const dataset = H5Dcreate2(file, "psi", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    require(dataset, "cannot create a dataset");
    H5Pclose(creation);
    H5Sclose(space);
    return dataset;
}

// Calls `work(memory, space, transfer)` for the part of this rank.
template <class Work> void transfer_own(hid_t dataset, Job const& job, bool collective, Work const& work) {
    hsize_t const count = job.values.size(), start = count * static_cast<hsize_t>(rank_of());
    auto const memory = H5Screate_simple(1, &count, nullptr), space = H5Dget_space(dataset);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, nullptr, &count, nullptr);
    auto const transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer, collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
    work(memory, space, transfer);
    H5Pclose(transfer);
    H5Sclose(space);
    H5Sclose(memory);
}

void save(Job& job, bool collective) {
    auto info = info_of(job);
    auto const access = access_over(info);
    auto const file = H5Fcreate(job.path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    require(file, "cannot create by HDF5");
    note_hints(job, handle_of(file));
    auto const dataset = create_dataset(file, job.values.size() * static_cast<hsize_t>(ranks()));
    job.phase("open");
    transfer_own(dataset, job, collective, [&](hid_t memory, hid_t space, hid_t transfer) {
        require(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, transfer, job.values.data()),
                "cannot write by HDF5");
    });
    H5Dclose(dataset);
    require(H5Fflush(file, H5F_SCOPE_GLOBAL), "cannot flush by HDF5");
    job.phase("write");
    check(MPI_File_sync(handle_of(file)), "cannot sync by MPI");
    job.phase("sync");
    require(H5Fclose(file), "cannot close by HDF5");
    job.phase("close");
    H5Pclose(access);
    MPI_Info_free(&info);
}

void restore(Job& job, bool collective) {
    auto info = info_of(job);
    auto const access = access_over(info);
    auto const file = H5Fopen(job.path.c_str(), H5F_ACC_RDONLY, access);
    require(file, "cannot open by HDF5");
    note_hints(job, handle_of(file));
    auto const dataset = H5Dopen2(file, "psi", H5P_DEFAULT);
    require(dataset, "there is no dataset");
    job.phase("open");
    transfer_own(dataset, job, collective, [&](hid_t memory, hid_t space, hid_t transfer) {
        require(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, transfer, job.values.data()), "cannot read by HDF5");
    });
    job.phase("read");
    H5Dclose(dataset);
    require(H5Fclose(file), "cannot close by HDF5");
    job.phase("close");
    H5Pclose(access);
    MPI_Info_free(&info);
}

Strategy strategy(bool collective) {
    return {[collective](Job& job) { save(job, collective); }, [collective](Job& job) { restore(job, collective); }};
}

} // namespace

Strategies hdf5_strategies() { return {{"hdf5-independent", strategy(false)}, {"hdf5-collective", strategy(true)}}; }
#else
Strategies hdf5_strategies() { return {}; }
#endif
