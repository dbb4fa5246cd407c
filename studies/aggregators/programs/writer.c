// Usage: writer VARIANT TRANSFER K BLOCK REPEATS SYNC FILE [HINT VALUE]... Repeats the experiment of the paper in C.
//
// VARIANT all: all ranks open the file; split: only the writers do. TRANSFER: independent or collective. K: number of
// uint16 elements of each writer. BLOCK 0: one range per writer; otherwise ranges of so many bytes, in turn. The first
// half of the ranks creates data and sends them, the second half writes. Prints a JSON object with the times of each
// repetition.
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTS = 4 }; // open, create, write, close

struct run {
    int rank, ranks, pairs, is_writer, is_split, is_collective, is_synced;
    long count, block;
    unsigned short* data;
    char const* path;
    MPI_Info info;
};

static void send_data(struct run const* run) {
    for (long at = 0; at < run->count; at += 1 << 20) {
        int const some = (int)(run->count - at < 1 << 20 ? run->count - at : 1 << 20);
        if (run->is_writer)
            MPI_Recv(run->data + at, some, MPI_UNSIGNED_SHORT, run->rank - run->pairs, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        else
            MPI_Send(run->data + at, some, MPI_UNSIGNED_SHORT, run->rank + run->pairs, 0, MPI_COMM_WORLD);
    }
}

static void select_mine(struct run const* run, hid_t space) {
    hsize_t const writer = (hsize_t)(run->rank - run->pairs), all = (hsize_t)run->count;
    hsize_t start = writer * all, stride = 1, count = 1, size = all;
    if (run->block) {
        size = (hsize_t)run->block / sizeof(short);
        start = writer * size;
        stride = size * (hsize_t)run->pairs;
        count = all / size;
    }
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, &stride, &count, &size);
}

static void write_file(struct run const* run, MPI_Comm comm, double parts[PARTS]) {
    double at[PARTS + 1];
    at[0] = MPI_Wtime();
    hid_t const access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_fapl_mpio(access, comm, run->info);
    if (run->is_collective) H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    hid_t const file = H5Fcreate(run->path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    at[1] = MPI_Wtime();
    hsize_t const all = (hsize_t)run->count * (hsize_t)run->pairs, mine = (hsize_t)run->count;
    hid_t const space = H5Screate_simple(1, &all, NULL), memory = H5Screate_simple(1, &mine, NULL);
    hid_t const set = H5Dcreate2(file, "dataset", H5T_NATIVE_USHORT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    at[2] = MPI_Wtime();
    if (run->is_writer)
        select_mine(run, space);
    else { // takes part without data
        H5Sselect_none(space);
        H5Sselect_none(memory);
    }
    if ((run->is_writer || run->is_collective) &&
        H5Dwrite(set, H5T_NATIVE_USHORT, memory, space, transfer, run->data) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (run->is_synced) {
        H5Fflush(file, H5F_SCOPE_GLOBAL);
        MPI_File* handle = NULL;
        if (H5Fget_vfd_handle(file, access, (void**)&handle) < 0) MPI_Abort(MPI_COMM_WORLD, 1);
        MPI_File_sync(*handle);
    }
    at[3] = MPI_Wtime();
    H5Dclose(set);
    H5Sclose(space);
    H5Sclose(memory);
    H5Pclose(transfer);
    H5Fclose(file);
    H5Pclose(access);
    at[4] = MPI_Wtime();
    for (int i = 0; i < PARTS; ++i) parts[i] = at[i + 1] - at[i];
}

// Measures as the paper does: from before the communicator is split to after the close.
static double run_once(struct run const* run, double parts[PARTS]) {
    MPI_Barrier(MPI_COMM_WORLD);
    double const begin = MPI_Wtime();
    memset(parts, 0, PARTS * sizeof *parts);
    MPI_Comm comm = MPI_COMM_WORLD;
    if (run->is_split) MPI_Comm_split(MPI_COMM_WORLD, run->is_writer ? 0 : MPI_UNDEFINED, run->rank, &comm);
    if (comm != MPI_COMM_NULL) write_file(run, comm, parts);
    double const took = MPI_Wtime() - begin;
    if (run->is_split && comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    return took;
}

int main(int count, char** words) {
    struct run run = {0};
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
    if (count < 8) MPI_Abort(MPI_COMM_WORLD, 2);
    run.pairs = run.ranks / 2;
    run.is_writer = run.rank >= run.pairs;
    run.is_split = !strcmp(words[1], "split");
    run.is_collective = !strcmp(words[2], "collective");
    run.count = atol(words[3]);
    run.block = atol(words[4]);
    int const repeats = atoi(words[5]);
    run.is_synced = atoi(words[6]);
    run.path = words[7];
    run.data = malloc((size_t)run.count * sizeof *run.data);
    if (!run.data) MPI_Abort(MPI_COMM_WORLD, 1);
    for (long i = 0; i < run.count; ++i) run.data[i] = (unsigned short)(rand() & 1023);
    MPI_Info_create(&run.info);
    for (int i = 8; i + 1 < count; i += 2) MPI_Info_set(run.info, words[i], words[i + 1]);
    send_data(&run);
    if (!run.rank) printf("[");
    for (int i = 0; i < repeats; ++i) {
        double mine[1 + PARTS], *all = run.rank ? NULL : malloc((size_t)run.ranks * sizeof mine);
        mine[0] = run_once(&run, mine + 1);
        MPI_Gather(mine, 1 + PARTS, MPI_DOUBLE, all, 1 + PARTS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        for (int rank = 0; !run.rank && rank < run.ranks; ++rank) {
            double const* const each = all + rank * (1 + PARTS);
            printf("%s[%.9f, %.9f, %.9f, %.9f, %.9f]",
                   rank ? ", "
                   : i  ? ", ["
                        : "[",
                   each[0], each[1], each[2], each[3], each[4]);
        }
        if (!run.rank) printf("]");
        free(all);
    }
    if (!run.rank) printf("]\n");
    MPI_Finalize();
    return 0;
}
