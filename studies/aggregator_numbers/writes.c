// writes PATH FILES KIND PIECE SIZE...: ranks write FILES files together, one after the other, and rank 0 prints the
// seconds of each, from opening until it is closed on all ranks. SIZE: the bytes of each rank.
//   blocks  one block of each rank, in the order of ranks
//   views   the same, and each rank begins a view of its own there
//   pieces  pieces of PIECE bytes of all ranks in turn; all ranks have the same size
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RANKS = 64 };

static MPI_Offset place_of(int rank, char** sizes) {
    MPI_Offset place = 0;
    for (int i = 0; i < rank; ++i) place += atoll(sizes[i]);
    return place;
}

static void set_view(MPI_File file, MPI_Offset place, MPI_Datatype type) {
    MPI_File_set_view(file, place, MPI_BYTE, type, "native", MPI_INFO_NULL);
}

static void write_file(char* path, char** words, int rank, int ranks, char const* bytes) {
    char const* const kind = words[0];
    int const piece = atoi(words[1]), size = atoi(words[2 + rank]);
    MPI_Offset const place = place_of(rank, words + 2);
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    if (strcmp(kind, "blocks") == 0) {
        MPI_File_write_at_all(file, place, bytes, size, MPI_BYTE, MPI_STATUS_IGNORE);
    } else if (strcmp(kind, "views") == 0) {
        set_view(file, place, MPI_BYTE);
        MPI_File_write_all(file, bytes, size, MPI_BYTE, MPI_STATUS_IGNORE);
    } else {
        MPI_Datatype pieces;
        MPI_Type_vector(size / piece, piece, piece * ranks, MPI_BYTE, &pieces);
        MPI_Type_commit(&pieces);
        set_view(file, (MPI_Offset)piece * rank, pieces);
        MPI_File_write_all(file, bytes, size, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_Type_free(&pieces);
    }
    MPI_File_close(&file);
}

int main(int count, char** words) {
    MPI_Init(&count, &words);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (count != 5 + ranks || ranks > MOST_RANKS) MPI_Abort(MPI_COMM_WORLD, 2);
    int const files = atoi(words[2]), size = atoi(words[5 + rank]);
    char* const bytes = malloc((size_t)size + 1);
    memset(bytes, 'a' + rank, (size_t)size + 1);
    for (int i = 0; i < files; ++i) {
        if (rank == 0) unlink(words[1]);
        MPI_Barrier(MPI_COMM_WORLD);
        double const begin = MPI_Wtime();
        write_file(words[1], words + 3, rank, ranks, bytes);
        double const mine = MPI_Wtime() - begin;
        double longest = 0;
        MPI_Reduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0) printf("%.6f\n", longest);
    }
    free(bytes);
    MPI_Finalize();
}
