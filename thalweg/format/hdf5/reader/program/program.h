// The program thalweg-hdf5-reader: serves one call of `load_by_program`.
#pragma once

namespace thalweg::format::hdf5::reader::program {

// At the other end of the socket. Returns the program's exit code.
int run_reader_program(int socket);

} // namespace thalweg::format::hdf5::reader::program
