// Wraps streams of the C library as programs call them: the reads and writes inside bypass every wrapper.
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "thalweg/interpose/wrap.h"

#define OF_STREAM (uint64_t) stream, file_of_stream(stream)
#define WRAP_STREAM(type, name, parameters, arguments, offset, size, failed)                                           \
    WRAP(type, name, parameters, arguments, stream, file_of_stream(stream), offset, size, failed)

static uint32_t file_of_stream(FILE* stream) { return stream ? file_of(fileno_unlocked(stream)) : 0; }

#define WRAP_OPEN(name, parameters, arguments)                                                                         \
    EXPORTED FILE* name parameters {                                                                                   \
        struct call call;                                                                                              \
        begin_call(&call, OP_##name, 0, 0, -1, thrown_away(AT_FDCWD, path, *mode == 'w' ? O_TRUNC : 0));               \
        FILE* const stream = REAL(name) arguments;                                                                     \
        int const saved = errno;                                                                                       \
        int const fd = stream ? fileno_unlocked(stream) : -1;                                                          \
        if (call.slot >= 0) {                                                                                          \
            call.file = file_of_opened(fd, path);                                                                      \
            call.handle = (uint64_t)stream;                                                                            \
            if (!stream && path) write_text(TEXT_PATH, 0, 0, path);                                                    \
        }                                                                                                              \
        finish_call(&call, fd, stream ? 0 : saved);                                                                    \
        errno = saved;                                                                                                 \
        return stream;                                                                                                 \
    }
WRAP_OPEN(fopen, (char const* path, char const* mode), (path, mode))
WRAP_OPEN(fopen64, (char const* path, char const* mode), (path, mode))
WRAP_OPEN(freopen, (char const* path, char const* mode, FILE* old), (path, mode, old))
WRAP_OPEN(freopen64, (char const* path, char const* mode, FILE* old), (path, mode, old))

EXPORTED FILE* fdopen(int fd, char const* mode) {
    struct call call;
    begin_call(&call, OP_fdopen, (uint64_t)fd, file_of(fd), -1, -1);
    FILE* const stream = REAL(fdopen)(fd, mode);
    finish_call(&call, stream ? fd : -1, stream ? 0 : errno);
    return stream;
}

EXPORTED int fclose(FILE* stream) {
    struct call call;
    int const fd = stream ? fileno_unlocked(stream) : -1;
    begin_call(&call, OP_fclose, (uint64_t)stream, known_file(fd), -1, -1);
    forget_file(fd);
    int const result = REAL(fclose)(stream);
    finish_call(&call, result, result ? errno : 0);
    return result;
}

// These return a number of items; the record has bytes.
#define WRAP_ITEMS(name, type)                                                                                         \
    EXPORTED size_t name(type* data, size_t size, size_t count, FILE* stream) {                                        \
        struct call call;                                                                                              \
        begin_call(&call, OP_##name, OF_STREAM, -1, (int64_t)(size * count));                                          \
        size_t const result = REAL(name)(data, size, count, stream);                                                   \
        finish_call(&call, (int64_t)(result * size), 0);                                                               \
        return result;                                                                                                 \
    }
#undef fread_unlocked
#undef fwrite_unlocked
WRAP_ITEMS(fread, void)
WRAP_ITEMS(fread_unlocked, void)
WRAP_ITEMS(fwrite, void const)
WRAP_ITEMS(fwrite_unlocked, void const)
extern void __chk_fail(void) __attribute__((noreturn));
EXPORTED size_t __fread_chk(void* data, size_t capacity, size_t size, size_t count, FILE* stream) {
    if (size && count > capacity / size) __chk_fail();
    return fread(data, size, count, stream);
}

static int64_t length_of(char const* text) {
    int64_t length = 0;
    while (text && text[length]) ++length;
    return length;
}
#undef fgets_unlocked
#undef fputs_unlocked
#define WRAP_GETS(name)                                                                                                \
    EXPORTED char* name(char* text, int size, FILE* stream) {                                                          \
        struct call call;                                                                                              \
        begin_call(&call, OP_##name, OF_STREAM, -1, size);                                                             \
        char* const result = REAL(name)(text, size, stream);                                                           \
        finish_call(&call, call.slot < 0 ? 0 : length_of(result), 0);                                                  \
        return result;                                                                                                 \
    }
WRAP_GETS(fgets)
WRAP_GETS(fgets_unlocked)
EXPORTED char* __fgets_chk(char* text, size_t capacity, int size, FILE* stream) {
    if (size > 0 && (size_t)size > capacity) __chk_fail();
    return fgets(text, size, stream);
}
#define WRAP_PUTS(name)                                                                                                \
    EXPORTED int name(char const* text, FILE* stream) {                                                                \
        struct call call;                                                                                              \
        begin_call(&call, OP_##name, OF_STREAM, -1, -1);                                                               \
        int const result = REAL(name)(text, stream);                                                                   \
        finish_call(&call, call.slot < 0 ? 0 : result < 0 ? -1 : length_of(text), result < 0 ? errno : 0);             \
        return result;                                                                                                 \
    }
WRAP_PUTS(fputs)
WRAP_PUTS(fputs_unlocked)
EXPORTED int puts(char const* text) {
    struct call call;
    begin_call(&call, OP_puts, (uint64_t)stdout, file_of_stream(stdout), -1, -1);
    int const result = REAL(puts)(text);
    finish_call(&call, call.slot < 0 ? 0 : result < 0 ? -1 : length_of(text) + 1, result < 0 ? errno : 0);
    return result;
}

#define WRAP_LETTER(name, parameters, arguments)                                                                       \
    EXPORTED int name parameters {                                                                                     \
        struct call call;                                                                                              \
        begin_call(&call, OP_##name, OF_STREAM, -1, 1);                                                                \
        int const result = REAL(name) arguments;                                                                       \
        finish_call(&call, result == EOF ? 0 : 1, 0);                                                                  \
        return result;                                                                                                 \
    }
#undef getc
#undef putc
WRAP_LETTER(fgetc, (FILE * stream), (stream))
WRAP_LETTER(getc, (FILE * stream), (stream))
WRAP_LETTER(fputc, (int letter, FILE* stream), (letter, stream))
WRAP_LETTER(putc, (int letter, FILE* stream), (letter, stream))
#undef fputc_unlocked
WRAP_LETTER(fputc_unlocked, (int letter, FILE* stream), (letter, stream))
#undef putchar
EXPORTED int putchar(int letter) {
    FILE* const stream = stdout;
    struct call call;
    begin_call(&call, OP_putchar, OF_STREAM, -1, 1);
    int const result = REAL(putchar)(letter);
    finish_call(&call, result == EOF ? 0 : 1, 0);
    return result;
}

// Prints with the real function that takes a list of arguments.
static int print(unsigned operation, FILE* stream, char const* format, va_list values) {
    struct call call;
    begin_call(&call, (uint16_t)operation, OF_STREAM, -1, -1);
    int const result = REAL(vfprintf)(stream, format, values);
    finish_call(&call, result, result < 0 ? errno : 0);
    return result;
}
#define WRAP_PRINT(name, operation, parameters, last, to)                                                              \
    EXPORTED int name parameters {                                                                                     \
        va_list values;                                                                                                \
        va_start(values, last);                                                                                        \
        int const result = print(operation, to, format, values);                                                       \
        va_end(values);                                                                                                \
        return result;                                                                                                 \
    }
WRAP_PRINT(fprintf, OP_fprintf, (FILE * stream, char const* format, ...), format, stream)
WRAP_PRINT(printf, OP_printf, (char const* format, ...), format, stdout)
WRAP_PRINT(__fprintf_chk, OP_fprintf, (FILE * stream, __attribute__((unused)) int flag, char const* format, ...),
           format, stream)
WRAP_PRINT(__printf_chk, OP_printf, (__attribute__((unused)) int flag, char const* format, ...), format, stdout)
EXPORTED int vfprintf(FILE* stream, char const* format, va_list values) {
    return print(OP_vfprintf, stream, format, values);
}
EXPORTED int vprintf(char const* format, va_list values) { return print(OP_vprintf, stdout, format, values); }
EXPORTED int __vfprintf_chk(FILE* stream, int flag, char const* format, va_list values) {
    (void)flag;
    return print(OP_vfprintf, stream, format, values);
}
EXPORTED int __vprintf_chk(int flag, char const* format, va_list values) {
    (void)flag;
    return print(OP_vprintf, stdout, format, values);
}

WRAP_STREAM(ssize_t, getline, (char** text, size_t* size, FILE* stream), (text, size, stream), -1, -1, false)
WRAP_STREAM(ssize_t, getdelim, (char** text, size_t* size, int end, FILE* stream), (text, size, end, stream), -1, -1,
            false)
// The inline getline of the headers calls this function.
EXPORTED ssize_t __getdelim(char** text, size_t* size, int end, FILE* stream) {
    return getdelim(text, size, end, stream);
}
WRAP_STREAM(int, fflush, (FILE * stream), (stream), -1, -1, result != 0)
WRAP_STREAM(int, fseek, (FILE * stream, long at, int from), (stream, at, from), at, -1, result != 0)
WRAP_STREAM(int, fseeko, (FILE * stream, off_t at, int from), (stream, at, from), at, -1, result != 0)
WRAP_STREAM(int, fseeko64, (FILE * stream, off64_t at, int from), (stream, at, from), at, -1, result != 0)
EXPORTED void rewind(FILE* stream) {
    struct call call;
    begin_call(&call, OP_rewind, OF_STREAM, 0, -1);
    REAL(rewind)(stream);
    finish_call(&call, 0, 0);
}
