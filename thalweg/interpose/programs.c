// Wraps the functions by which a process becomes another program, or starts one. This library is taken out of the
// environment of programs that it would disturb, and they are named in the report.
#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thalweg/interpose/real.h"

enum { HEAD_BYTES = 1024, MOST_INTERPRETERS = 4 };
static char const LIBRARY[] = "libthalweg_interpose.so";
static char const PRELOAD[] = "LD_PRELOAD=";
#if defined(__x86_64__)
enum { OUR_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OUR_MACHINE = EM_AARCH64 };
#endif

static long read_of_program(int fd, void* to, size_t size, uint64_t at) {
    long const got = system_call(SYS_pread64, fd, (long)to, (long)size, (long)at);
    if (got >= 0) count_own_read((uint32_t)got);
    return got;
}

// The beginning of a program's file. All that is asked of the file is in it as a rule.
struct head {
    int fd;
    size_t size;
    char bytes[HEAD_BYTES];
};

static bool read_at(struct head const* head, void* to, size_t size, uint64_t at) {
    if (at > head->size || size > head->size - at) return read_of_program(head->fd, to, size, at) == (long)size;
    memcpy(to, head->bytes + at, size);
    return true;
}

// Returns why the program, which is an ELF file, would be disturbed by this library, or NULL.
static char const* why_not_elf(struct head const* head) {
    Elf64_Ehdr header;
    memcpy(&header, head->bytes, sizeof header);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != OUR_MACHINE)
        return "is for another kind of processor than the tracing library (such as 32 bits)";
    for (int i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr part;
        if (!read_at(head, &part, sizeof part, header.e_phoff + (uint64_t)i * header.e_phentsize)) return NULL;
        if (part.p_type != PT_INTERP) continue;
        char loader[256] = "";
        size_t const size = part.p_filesz < sizeof loader - 1 ? part.p_filesz : sizeof loader - 1;
        if (!read_at(head, loader, size, part.p_offset)) return NULL;
        return strstr(loader, "ld-linux") ? NULL : "is for another C library than the tracing library (such as musl)";
    }
    return NULL; // it is static, and no library is loaded into it
}

// Returns why this program, or the one that interprets it, would be disturbed by this library, or NULL.
static char const* why_not_file(char const* path) {
    struct head head;
    for (int i = 0; i < MOST_INTERPRETERS; ++i) {
        head.fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
        if (head.fd < 0) return NULL;
        char* const bytes = head.bytes;
        long const got = read_of_program(head.fd, bytes, sizeof head.bytes - 1, 0);
        head.size = got > 0 ? (size_t)got : 0;
        bool const is_elf = head.size >= sizeof(Elf64_Ehdr) && memcmp(bytes, ELFMAG, SELFMAG) == 0;
        char const* const why = is_elf ? why_not_elf(&head) : NULL;
        syscall(SYS_close, head.fd);
        if (is_elf || head.size < 3 || memcmp(bytes, "#!", 2) != 0) return why;
        bytes[head.size] = 0;
        path = bytes + 2 + strspn(bytes + 2, " \t");
        bytes[path - bytes + (long)strcspn(path, " \t\n")] = 0;
    }
    return NULL;
}

// Returns the file that a name without a slash means.
static char const* find_in_path(char const* name, char* found, size_t room) {
    char const* path = getenv("PATH");
    for (path = path ? path : "/bin:/usr/bin"; *path; path += *path == ':') {
        size_t const length = strcspn(path, ":");
        int const wrote = snprintf(found, room, "%.*s/%s", (int)length, length ? path : ".", name);
        if (wrote > 0 && (size_t)wrote < room && syscall(SYS_faccessat, AT_FDCWD, found, X_OK) == 0) return found;
        path += length;
    }
    return NULL;
}

// Returns where the name of this library stands in a value of LD_PRELOAD, and its length.
static char const* find_library(char const* value, size_t* length) {
    while (*value) {
        value += strspn(value, ": ");
        *length = strcspn(value, ": ");
        if (*length >= sizeof LIBRARY - 1 &&
            !memcmp(value + *length - (sizeof LIBRARY - 1), LIBRARY, sizeof LIBRARY - 1))
            return value;
        value += *length;
    }
    return NULL;
}

// An environment without this library. Its memory belongs to the caller, who may be a child of vfork.
struct lean {
    char* preload;
    char** environment;
};

static size_t count_of(char* const* words) {
    size_t count = 0;
    while (words && words[count]) ++count;
    return count;
}

static char* const* preload_in(char* const* environment) {
    for (; environment && *environment; ++environment) {
        if (strncmp(*environment, PRELOAD, sizeof PRELOAD - 1) == 0) return environment;
    }
    return NULL;
}

// Returns why the program is to be started without this library, or NULL if it is to be started with it, or is without
// it already.
static char const* why_without(char const* path, char* const* environment, bool searches) {
    char* const* const preload = preload_in(environment);
    size_t length = 0;
    char const* const ours = preload ? find_library(*preload + sizeof PRELOAD - 1, &length) : NULL;
    if (!path || !ours || is_confined) return NULL;
    int const saved = errno;
    char found[PATH_BYTES], library[PATH_BYTES];
    char const* const file = searches && !strchr(path, '/') ? find_in_path(path, found, sizeof found) : path;
    snprintf(library, sizeof library, "%.*s", (int)length, ours);
    bool const is_there = strchr(library, '/') == NULL || syscall(SYS_faccessat, AT_FDCWD, library, R_OK) == 0;
    char const* const why = is_there ? file ? why_not_file(file) : NULL
                                     : "cannot reach the tracing library (it has another root, or no permission)";
    errno = saved;
    return why;
}

static void make_lean(struct lean* lean, char* const* environment) {
    char* const* const preload = preload_in(environment);
    size_t length = 0;
    char const* const ours = find_library(*preload + sizeof PRELOAD - 1, &length);
    size_t const before = (size_t)(ours - *preload);
    memcpy(lean->preload, *preload, before);
    strcpy(lean->preload + before, ours + length);
    size_t const count = count_of(environment);
    memcpy(lean->environment, environment, (count + 1) * sizeof *environment);
    lean->environment[preload - environment] = lean->preload;
}

// Declares an environment without this library in the frame of the caller.
#define LEAN(name, from)                                                                                               \
    char name##_preload[strlen(*preload_in(from)) + 1];                                                                \
    char* name##_environment[count_of(from) + 1];                                                                      \
    struct lean name = {name##_preload, name##_environment};                                                           \
    make_lean(&name, from)

typedef int exec_function(char const*, char* const[], char* const[]);

static int call_exec(unsigned searches, char const* path, char* const words[], char* const environment[]) {
    char const* const name = searches ? "execvpe" : "execve";
    void const* const ours = searches ? (void const*)execvpe : (void const*)execve;
    exec_function* const real = (exec_function*)real_of_caller(name, (void*)&call_exec, ours);
    int32_t const pid = (int32_t)(is_confined ? 0 : syscall(SYS_getpid)); // maybe a child of vfork, which uses our ring
    char const* const why = why_without(path, environment, searches);
    note_program(pid, path ? path : "", why);
    note_end_of_program();
    int result;
    if (why) {
        LEAN(lean, environment);
        result = real(path, words, lean.environment);
    } else {
        result = real(path, words, environment);
    }
    note_program(pid, "", NULL);
    return result;
}

EXPORTED int execve(char const* path, char* const words[], char* const environment[]) {
    return call_exec(false, path, words, environment);
}
EXPORTED int execvpe(char const* path, char* const words[], char* const environment[]) {
    return call_exec(true, path, words, environment);
}
EXPORTED int execv(char const* path, char* const words[]) { return call_exec(false, path, words, environ); }
EXPORTED int execvp(char const* path, char* const words[]) { return call_exec(true, path, words, environ); }

// The C library makes an array of the words of these functions, and does not call the functions above for that.
#define WRAP_EXEC_WORDS(name, searches, environment_of)                                                                \
    EXPORTED int name(char const* path, char const* first, ...) {                                                      \
        va_list rest;                                                                                                  \
        va_start(rest, first);                                                                                         \
        size_t count = 1;                                                                                              \
        for (char const* each = first; each; ++count) each = va_arg(rest, char const*);                                \
        va_end(rest);                                                                                                  \
        char* words[count];                                                                                            \
        words[0] = (char*)first;                                                                                       \
        va_start(rest, first);                                                                                         \
        for (size_t i = 1; i < count; ++i) words[i] = va_arg(rest, char*);                                             \
        char* const* const environment = environment_of;                                                               \
        va_end(rest);                                                                                                  \
        return call_exec(searches, path, words, environment);                                                          \
    }
WRAP_EXEC_WORDS(execl, false, environ)
WRAP_EXEC_WORDS(execlp, true, environ)
WRAP_EXEC_WORDS(execle, false, va_arg(rest, char* const*))

// These programs have no path: the one that the descriptor has is looked up.
static void note_descriptor(int fd) {
    if (is_confined) return;
    char link[64], path[PATH_BYTES];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long const length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    note_program((int32_t)syscall(SYS_getpid), path, NULL);
    note_end_of_program();
}
EXPORTED int fexecve(int fd, char* const words[], char* const environment[]) {
    typedef int execute(int, char* const[], char* const[]);
    execute* const real = (execute*)real_of_caller("fexecve", (void*)&call_exec, (void const*)fexecve);
    note_descriptor(fd);
    int const result = real(fd, words, environment);
    if (!is_confined) note_program((int32_t)syscall(SYS_getpid), "", NULL);
    return result;
}

// The C library starts these programs itself, without this library's exec.
typedef int spawn_function(pid_t*, char const*, posix_spawn_file_actions_t const*, posix_spawnattr_t const*,
                           char* const[], char* const[]);
#define WRAP_SPAWN(name, searches)                                                                                     \
    EXPORTED int name(pid_t* pid, char const* path, posix_spawn_file_actions_t const* actions,                         \
                      posix_spawnattr_t const* attributes, char* const words[], char* const environment[]) {           \
        spawn_function* const real = (spawn_function*)real_of_caller(#name, (void*)&call_exec, (void const*)name);     \
        pid_t child = 0;                                                                                               \
        int result;                                                                                                    \
        char const* const why = why_without(path, environment, searches);                                              \
        if (why) {                                                                                                     \
            LEAN(lean, environment);                                                                                   \
            result = real(&child, path, actions, attributes, words, lean.environment);                                 \
        } else {                                                                                                       \
            result = real(&child, path, actions, attributes, words, environment);                                      \
        }                                                                                                              \
        if (result == 0) note_program(child, path, why);                                                               \
        if (result == 0 && pid) *pid = child;                                                                          \
        return result;                                                                                                 \
    }
WRAP_SPAWN(posix_spawn, false)
WRAP_SPAWN(posix_spawnp, true)

void note_program(int32_t pid, char const* path, char const* why_not) {
    if (is_confined || !is_traced()) return;
    int const saved = errno;
    char absolute[2 * PATH_BYTES];
    *absolute = 0;
    bool const is_relative = *path && *path != '/' && strchr(path, '/');
    if (is_relative && syscall(SYS_getcwd, absolute, PATH_BYTES) < 0) *absolute = 0;
    size_t const length = strlen(absolute);
    snprintf(absolute + length, sizeof absolute - length, "%s%.4000s", length ? "/" : "", path);
    write_text(TEXT_BECOMES, 0, (uint64_t)pid, absolute);
    if (why_not) write_text(TEXT_WHY_NOT, 0, (uint64_t)pid, why_not);
    errno = saved;
}
