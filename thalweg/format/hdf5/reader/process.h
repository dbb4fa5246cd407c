// Reads metadata that no seal vouches for in a process of its own, the program thalweg-hdf5-reader. libhdf5 1.10 may
// write to wrong addresses while it reads damaged metadata; then only that process is lost (docs/decisions/0024).
//
// Invariants
//   1. The asking process alone opens the file. The program gets bytes of it over its socket, and nothing else.
//   2. One process answers one question and ends. No state is left for the next question.
//   3. Whatever the program does, the question ends: it limits its own memory and CPU time (reader/program), and the
//      asking process kills it when it goes away.
//   4. The answer is not trusted. Its size is bounded, and run_map_bytes.h checks it before anything uses it.
//
// States of a question, and what moves them. Messages are in messages.h; "asks" is the asking process, "reader" the
// program.
//
//   asks: start the program, send the question ──→ reading
//   reading:  reader sends `read`  ──→ asks: send the bytes ──→ reading (as often as it takes)
//             reader sends `map`, `data_error` or `usage_error` ──→ answered: return it, or throw it
//             the socket closes without one of these ──→ ended: wait for the process, and say how it ended (a crash,
//                  no end, an exit code)
//             a read outside the file, or an answer that is too large ──→ ended
//   ended:    `load_by_program` asks once more, of a file of ours, for the rows alone; otherwise base::DataError
#pragma once

#include "thalweg/format/hdf5/reader/late_column.h"
#include "thalweg/model/run.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format::hdf5::reader {

// Returns what `load_here` returns in the program. Throws base::DataError if the metadata cannot be read, or if libhdf5
// crashes on it; base::SystemError if the program cannot be started.
model::RunMap load_by_program(storage::Storage const& file);

// Returns in the same way as many datasets as are wanted, in the same order.
std::vector<LateColumn> load_datasets_by_program(storage::Storage const& file,
                                                 std::vector<WantedDataset> const& wanted);

} // namespace thalweg::format::hdf5::reader
