// thalweg-hdf5-reader: reads the metadata of one HDF5 file for the process that started it, over its standard input.
#include <unistd.h>

#include "thalweg/format/hdf5/reader/program/program.h"

int main() { return thalweg::format::hdf5::reader::program::run_reader_program(STDIN_FILENO); }
