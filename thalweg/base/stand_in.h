// The seam of the simulator: what the code asks of the machine it runs on, apart from the bytes of files (storage has
// a seam of its own). A real machine has no stand-in: each function of this folder then costs one branch more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/base/process.h"

namespace thalweg::base {

struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t links = 0; // 0: it has been removed

    // The same file, whatever its name is by now.
    bool operator==(FileIdentity const& other) const { return device == other.device && inode == other.inode; }
};

// It may be of several machines, which share a file system: what is asked is asked on that of the thread that runs.
// One thread runs at a time and only here another one may go on, so what is done between two calls is done at once.
// Calls fail as the functions do that ask: with SystemError.
class StandIn {
  public:
    virtual ~StandIn() = default;

    // clock.h
    virtual std::uint64_t monotonic_ns() = 0;
    virtual std::string utc_now() = 0;
    virtual std::uint64_t unix_seconds() = 0;
    virtual void sleep_ns(std::uint64_t duration_ns) = 0;

    // thread.h: waits end when a thread wakes `what`, or for no reason at all.
    virtual void wait_for(void const* what, std::uint64_t timeout_ns) = 0;
    virtual void wake(void const* what) = 0;
    virtual std::uint64_t start_thread(std::function<void()> work) = 0;
    virtual void join_thread(std::uint64_t thread) = 0;
    // Around libraries that keep state of the process and that no thread may leave in the middle. Can be nested.
    virtual void enter_library() = 0;
    virtual void leave_library() = 0;

    // process.h, random.h
    virtual ProcessId this_process() = 0;
    virtual bool is_alive(ProcessId const& process) = 0;
    virtual bool is_in_use(std::int32_t pid) = 0;
    virtual std::string boot_id() = 0;
    virtual std::string host_name() = 0;
    virtual std::uint64_t random_word() = 0;

    // memory.h: zeroed, page-aligned, and there until nothing can ask for it any more.
    virtual std::span<std::byte> create_memory(std::string const& name, std::size_t size_bytes) = 0;
    virtual std::span<std::byte> attach_memory(std::string const& name) = 0;
    virtual void unlink_memory(std::string const& name) = 0;
    virtual void link_memory(std::string const& name, std::string const& other) = 0;
    virtual std::vector<std::string> list_memory(std::string const& prefix) = 0;

    // file_descriptor.h
    virtual int open_file(std::string const& path, int flags) = 0;
    virtual void close_file(int fd) = 0;
    virtual bool try_lock_file(int fd, bool exclusive) = 0;
    virtual FileIdentity identity_of(int fd) = 0;
    virtual std::optional<FileIdentity> identity_of(std::string const& path) = 0;
    virtual bool is_directory(std::string const& path) = 0;
    virtual bool remove_file(std::string const& path) = 0;
    virtual std::vector<std::string> list_directory(std::string const& path) = 0;
    virtual void sync_directory_of(std::string const& path) = 0;
    virtual bool make_directory(std::string const& path) = 0;
    virtual void remove_directory(std::string const& path) = 0;
    virtual bool make_label(std::string const& path, std::string const& text) = 0;
    virtual std::optional<std::string> read_label(std::string const& path) = 0;
};

// Set only while no other thread is there.
inline StandIn* stand_in = nullptr;

} // namespace thalweg::base
