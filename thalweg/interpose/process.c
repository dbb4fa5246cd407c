#include "thalweg/interpose/process.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thalweg/interpose/bytes.h"
#include "thalweg/interpose/system.h"

static struct {
    char command[sizeof((struct ring*)0)->command];
    char executable[sizeof((struct ring*)0)->executable];
} program; // forked children run the same one

size_t read_file(char const* path, char* text, size_t capacity) {
    int const fd = (int)system_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return 0;
    long const got = system_call(SYS_read, fd, (long)text, (long)capacity - 1, 0);
    system_call(SYS_close, fd, 0, 0, 0);
    text[got > 0 ? got : 0] = 0;
    return got > 0 ? (size_t)got : 0;
}

void read_io(struct ring* ring, uint64_t values[4]) {
    static char const* const names[4] = {"rchar: ", "wchar: ", "syscr: ", "syscw: "};
    char text[512];
    size_t const got = read_file("/proc/self/io", text, sizeof text);
    for (int i = 0; i < 4; ++i) {
        char const* const found = strstr(text, names[i]);
        values[i] = found ? strtoull(found + strlen(names[i]), NULL, 10) : 0;
    }
    ring->own_read_bytes += (uint32_t)got;
    ++ring->own_reads;
}

int rank_of_launcher(void) {
    static char const* const names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        char const* const text = getenv(names[i]);
        if (text && *text) return atoi(text);
    }
    return -1;
}

// Reads which program this is, once: forked children keep it.
static void read_program(struct ring* ring) {
    char command[sizeof program.command];
    size_t const got = read_file("/proc/self/cmdline", command, sizeof command);
    memset(&program, 0, sizeof program);
    for (size_t i = 0; i < got; ++i) program.command[i] = command[i] ? command[i] : ' ';
    system_call(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)program.executable,
                sizeof program.executable - 1);
    ring->own_read_bytes += (uint32_t)got;
    ++ring->own_reads;
}

// Describes this process in the ring of its first thread. A forked child has read and written nothing yet.
void describe_process(struct ring* ring) {
    if (!ring->is_forked) {
        read_io(ring, ring->io_begin);
        read_program(ring);
    }
    ring->describes_process = 1;
    copy_bytes(ring->command, program.command, sizeof ring->command);
    copy_bytes(ring->executable, program.executable, sizeof ring->executable);
    system_call(SYS_sched_getaffinity, 0, sizeof ring->cores, (long)ring->cores, 0);
}

// Notes the environment variables that configure HDF5 and MPI-IO.
void describe_environment(void) {
    static char const* const beginnings[] = {"HDF5_", "ROMIO_", "MPIR_CVAR_", "MPICH_", "OMPI_MCA_", "UCX_"};
    for (char** each = environ; each && *each; ++each) {
        for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; ++i) {
            if (strncmp(*each, beginnings[i], strlen(beginnings[i])) == 0) write_text(TEXT_ENVIRONMENT, 0, 0, *each);
        }
    }
}

void copy_description(struct ring* ring, struct ring const* old) {
    memcpy(ring->io_begin, old->io_begin, sizeof ring->io_begin);
    ring->own_read_bytes = old->own_read_bytes;
    ring->own_reads = old->own_reads;
    memcpy(ring->command, old->command, sizeof ring->command);
    memcpy(ring->executable, old->executable, sizeof ring->executable);
    memcpy(ring->cores, old->cores, sizeof ring->cores);
    ring->describes_process = 1;
}
