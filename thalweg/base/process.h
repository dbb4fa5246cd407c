// Tells whether a process lives. A process is named by its pid and its start time, because pids are reused.
#pragma once

#include <cstdint>
#include <string>

namespace thalweg::base {

struct ProcessId {
    std::int32_t pid = 0;
    std::uint32_t reserved = 0;
    std::uint64_t start_ticks = 0; // field 22 of /proc/PID/stat: clock ticks since boot

    bool operator==(ProcessId const&) const = default;
};

ProcessId this_process();

// False for a zombie, too: nothing that a zombie held will ever be finished.
bool is_alive(ProcessId const& process);

// Some process has this pid.
bool is_in_use(std::int32_t pid);

// Differs between machines and between boots of one machine (/proc/sys/kernel/random/boot_id).
std::string boot_id();

std::string host_name();

// Returns the number of the pid namespace (/proc/self/ns/pid): in another namespace, the same pid is another process.
// Throws SystemError if it cannot be read.
std::uint64_t pid_namespace();

// Differs in a forked child from what it was in the parent; costs one load.
std::uint64_t fork_generation();

} // namespace thalweg::base
