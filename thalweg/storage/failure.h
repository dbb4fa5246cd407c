// How the storages say that the operating system refused: always with path, offset and reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace thalweg::storage {

// "cannot write 4096 bytes at offset 8192 of run.h5 (No space left on device): free some space ...". Code that
// reaps a Completion with an error uses it, too.
[[noreturn]] void fail_at(char const* verb, std::string const& path, std::uint64_t offset, std::size_t size_bytes,
                          int errno_code);

// For calls that concern the whole file: "cannot sync run.h5 (Input/output error): ...".
[[noreturn]] void fail_whole(char const* verb, std::string const& path, int errno_code);

// `offset` + `size_bytes` lies beyond the end of a file of `end` bytes: SystemError with ENODATA.
[[noreturn]] void fail_past_end(std::string const& path, std::uint64_t offset, std::size_t size_bytes,
                                std::uint64_t end);

} // namespace thalweg::storage
