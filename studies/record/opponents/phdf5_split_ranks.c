/* Parallel HDF5 as in the `split_ranks` variant of the MULTIPAC study: the writing ranks share one file through MPI-IO,
 * and each writes its own contiguous range of a dataset of uint16, without chunks or filters, independently (which is
 * h5py's default, too). Here it is in C, so no Python is in the way, and it ends when everything is on the disk.
 *
 *   mpiexec -n WRITERS phdf5_split_ranks PATH ITEMS_PER_WRITER DATASETS
 *
 * With several datasets, more than one such step goes into the file, one after the other.
 */
#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void require(int good, char const* what) {
    if (good) return;
    fprintf(stderr, "phdf5_split_ranks: cannot %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Ten bits, nothing that any layer could shortcut. */
static uint16_t* make_items(hsize_t count, int rank) {
    uint16_t* items = malloc(count * sizeof *items);
    require(items != NULL, "get memory");
    uint32_t state = 1u + (uint32_t)rank;
    for (hsize_t i = 0; i < count; ++i) items[i] = (uint16_t)((state = state * 1664525u + 1013904223u) >> 22);
    return items;
}

static void write_dataset(hid_t file, int index, uint16_t const* items, hsize_t count, int rank, int ranks) {
    char name[32];
    snprintf(name, sizeof name, "dataset%d", index);
    hsize_t whole = count * (hsize_t)ranks, start = count * (hsize_t)rank;
    hid_t in_file = H5Screate_simple(1, &whole, NULL), in_memory = H5Screate_simple(1, &count, NULL);
    hid_t dataset = H5Dcreate2(file, name, H5T_NATIVE_UINT16, in_file, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    require(dataset >= 0, "create a dataset");
    H5Sselect_hyperslab(in_file, H5S_SELECT_SET, &start, NULL, &count, NULL);
    require(H5Dwrite(dataset, H5T_NATIVE_UINT16, in_memory, in_file, H5P_DEFAULT, items) >= 0, "write");
    H5Dclose(dataset);
    H5Sclose(in_memory);
    H5Sclose(in_file);
}

static void sync_file(char const* path) {
    int fd = open(path, O_WRONLY);
    require(fd >= 0 && fsync(fd) == 0, "sync the file");
    close(fd);
}

int main(int argc, char** argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    require(argc == 4, "go on without PATH ITEMS_PER_WRITER DATASETS");
    hsize_t count = strtoull(argv[2], NULL, 10);
    int datasets = atoi(argv[3]);
    uint16_t* items = make_items(count, rank);
    if (rank == 0) unlink(argv[1]);

    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    require(file >= 0, "create the file");
    for (int i = 0; i < datasets; ++i) write_dataset(file, i, items, count, rank, ranks);
    require(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0, "flush the file");
    require(H5Fclose(file) >= 0, "close the file");
    if (rank == 0) sync_file(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = MPI_Wtime() - begin;

    if (rank == 0) {
        double bytes = 2.0 * (double)count * ranks * datasets;
        printf("{\"seconds\": %.6f, \"raw_bytes\": %.0f, \"GB_per_s\": %.6f}\n", seconds, bytes,
               bytes / seconds * 1e-9);
    }
    H5Pclose(access);
    free(items);
    MPI_Finalize();
    return 0;
}
