// The recorded calls of MPI: all of MPI_File_*, in every version, and those in which ranks wait for each other. Each
// has its name, its number of arguments, and the places of an offset, a count and a datatype among them (-1: none).
#pragma once

// clang-format off
#define MPI_DATA_OPERATIONS(X, suffix) \
    X(File_read_at##suffix, 6, 1, 3, 4) X(File_read_at_all##suffix, 6, 1, 3, 4) \
    X(File_write_at##suffix, 6, 1, 3, 4) X(File_write_at_all##suffix, 6, 1, 3, 4) \
    X(File_iread_at##suffix, 6, 1, 3, 4) X(File_iread_at_all##suffix, 6, 1, 3, 4) \
    X(File_iwrite_at##suffix, 6, 1, 3, 4) X(File_iwrite_at_all##suffix, 6, 1, 3, 4) \
    X(File_read##suffix, 5, -1, 2, 3) X(File_read_all##suffix, 5, -1, 2, 3) \
    X(File_write##suffix, 5, -1, 2, 3) X(File_write_all##suffix, 5, -1, 2, 3) \
    X(File_iread##suffix, 5, -1, 2, 3) X(File_iread_all##suffix, 5, -1, 2, 3) \
    X(File_iwrite##suffix, 5, -1, 2, 3) X(File_iwrite_all##suffix, 5, -1, 2, 3) \
    X(File_read_shared##suffix, 5, -1, 2, 3) X(File_write_shared##suffix, 5, -1, 2, 3) \
    X(File_iread_shared##suffix, 5, -1, 2, 3) X(File_iwrite_shared##suffix, 5, -1, 2, 3) \
    X(File_read_ordered##suffix, 5, -1, 2, 3) X(File_write_ordered##suffix, 5, -1, 2, 3) \
    X(File_read_at_all_begin##suffix, 5, 1, 3, 4) X(File_write_at_all_begin##suffix, 5, 1, 3, 4) \
    X(File_read_all_begin##suffix, 4, -1, 2, 3) X(File_write_all_begin##suffix, 4, -1, 2, 3) \
    X(File_read_ordered_begin##suffix, 4, -1, 2, 3) X(File_write_ordered_begin##suffix, 4, -1, 2, 3)

#define MPI_OPERATIONS(X) \
    X(File_open, 5, -1, -1, -1) X(File_close, 1, -1, -1, -1) X(File_delete, 2, -1, -1, -1) \
    X(File_set_size, 2, -1, -1, -1) X(File_preallocate, 2, -1, -1, -1) X(File_get_size, 2, -1, -1, -1) \
    X(File_get_group, 2, -1, -1, -1) X(File_get_amode, 2, -1, -1, -1) X(File_set_info, 2, -1, -1, -1) \
    X(File_get_info, 2, -1, -1, -1) X(File_set_view, 6, 1, -1, -1) X(File_get_view, 5, -1, -1, -1) \
    X(File_seek, 3, 1, -1, -1) X(File_get_position, 2, -1, -1, -1) X(File_get_byte_offset, 3, 1, -1, -1) \
    X(File_seek_shared, 3, 1, -1, -1) X(File_get_position_shared, 2, -1, -1, -1) \
    X(File_get_type_extent, 3, -1, -1, -1) X(File_get_type_extent_c, 3, -1, -1, -1) \
    X(File_set_atomicity, 2, -1, -1, -1) X(File_get_atomicity, 2, -1, -1, -1) X(File_sync, 1, -1, -1, -1) \
    X(File_read_at_all_end, 3, -1, -1, -1) X(File_write_at_all_end, 3, -1, -1, -1) \
    X(File_read_all_end, 3, -1, -1, -1) X(File_write_all_end, 3, -1, -1, -1) \
    X(File_read_ordered_end, 3, -1, -1, -1) X(File_write_ordered_end, 3, -1, -1, -1) \
    X(File_set_errhandler, 2, -1, -1, -1) X(File_get_errhandler, 2, -1, -1, -1) \
    X(File_call_errhandler, 2, -1, -1, -1) \
    MPI_DATA_OPERATIONS(X, ) MPI_DATA_OPERATIONS(X, _c) \
    X(Init, 2, -1, -1, -1) X(Init_thread, 4, -1, -1, -1) X(Finalize, 0, -1, -1, -1) \
    X(Barrier, 1, -1, -1, -1) X(Bcast, 5, -1, 1, 2) X(Reduce, 7, -1, 2, 3) X(Allreduce, 6, -1, 2, 3) \
    X(Gather, 8, -1, 1, 2) X(Gatherv, 9, -1, 1, 2) X(Scatter, 8, -1, 1, 2) X(Scatterv, 9, -1, -1, -1) \
    X(Allgather, 7, -1, 1, 2) X(Allgatherv, 8, -1, 1, 2) X(Alltoall, 7, -1, 1, 2) X(Alltoallv, 9, -1, -1, -1) \
    X(Scan, 6, -1, 2, 3) X(Exscan, 6, -1, 2, 3) X(Wait, 2, -1, -1, -1) X(Waitall, 3, -1, -1, -1) \
    X(Waitany, 4, -1, -1, -1) X(Waitsome, 5, -1, -1, -1) X(Probe, 4, -1, -1, -1) \
    X(Recv, 7, -1, 1, 2) X(Send, 6, -1, 1, 2) X(Ssend, 6, -1, 1, 2) X(Sendrecv, 12, -1, 1, 2)
// clang-format on
