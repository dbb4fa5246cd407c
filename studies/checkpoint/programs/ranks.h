// Shared by the programs of this study: ranks that sleep while they wait, times, and what a process wrote.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <mpi.h>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

inline int rank_of() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

inline int ranks() {
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

// A rank that spins would take the processor of one that writes.
inline void meet() {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int done = 0; done == 0;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
}

inline double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

[[noreturn]] inline void fail(std::string const& what) {
    std::fprintf(stderr, "rank %d: %s (%s)\n", rank_of(), what.c_str(), std::strerror(errno));
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
}

// Returns the time of the longest rank, from the barrier on.
inline double longest(double seconds) {
    double most = 0;
    MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

// Returns what this process has written so far (/proc/self/io): calls of write, pwrite and similar, and the bytes that
// went to files by any call.
struct Written {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;
};

inline Written written_so_far() {
    std::ifstream io("/proc/self/io");
    std::string name;
    std::uint64_t value = 0;
    Written written;
    while (io >> name >> value) {
        if (name == "syscw:") written.calls = value;
        if (name == "write_bytes:") written.bytes = value;
    }
    return written;
}

// Returns the values of all ranks, on rank 0.
inline std::vector<std::uint64_t> gathered(std::uint64_t own) {
    std::vector<std::uint64_t> all(static_cast<std::size_t>(rank_of() == 0 ? ranks() : 0));
    MPI_Gather(&own, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    return all;
}

inline std::string as_json(std::vector<std::uint64_t> const& values) {
    std::string text;
    for (auto const value : values) text += (text.empty() ? "[" : ", ") + std::to_string(value);
    return text.empty() ? "[]" : text + "]";
}

// Makes members of a JSON object: what was written since `before`, in total, by the busiest rank, and by each rank.
inline std::string told_since(Written const& before) {
    auto const now = written_so_far();
    auto const calls = gathered(now.calls - before.calls), bytes = gathered(now.bytes - before.bytes);
    std::uint64_t all = 0, most = 0;
    for (auto const count : calls) all += count, most = std::max(most, count);
    return "\"writes\": " + std::to_string(all) + ", \"writes_of_busiest\": " + std::to_string(most) +
           ", \"writes_by_rank\": " + as_json(calls) + ", \"bytes_by_rank\": " + as_json(bytes);
}

// Makes values that depend on the rank and do not compress.
inline std::vector<double> values_of(std::uint64_t bytes, std::uint64_t seed) {
    std::vector<double> values(bytes / sizeof(double));
    std::uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
    for (auto& value : values) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        value = static_cast<double>(state >> 11);
    }
    return values;
}
