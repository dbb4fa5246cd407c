// The messages between the two ends of `load_by_program`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thalweg::format::hdf5::reader {

enum class ReaderMessageKind : std::uint64_t {
    file,       // to the program: its size is `offset`; the path follows
    file_rows,  // the same, where Contents::rows are enough
    file_pages, // the same, where pages of datasets are wanted: `datasets` follows
    datasets,   // to_bytes(std::vector<WantedDataset>) follows
    read,       // from it: `size_bytes` bytes at `offset` are wanted; they follow as they are
    map,        // the answer, and the last that is said: to_bytes(RunMap) or to_bytes(std::vector<LateColumn>)
    data_error, // or why there is none
    usage_error,
};

struct ReaderMessage {
    ReaderMessageKind kind = ReaderMessageKind::file;
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0; // of what follows, or is wanted
};
static_assert(sizeof(ReaderMessage) == 24);

// Both return false if the other end is gone.
bool send_all(int socket, std::span<std::byte const> bytes);
bool receive_all(int socket, std::span<std::byte> bytes);

bool send_message(int socket, ReaderMessage const& head, std::span<std::byte const> body);

} // namespace thalweg::format::hdf5::reader
