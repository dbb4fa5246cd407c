// Plays blocks into the buffer from which a handler of the readout reads, with nothing but libc: a pattern for the
// program of a card. docs/readout-card.md describes each step.
//
//   cc -std=c11 -D_GNU_SOURCE -o card examples/card.c
//   ./card NAME BUFFER_KIB < blocks        blocks one after the other, as docs/formats/felix.md describes them
//
// It ends when all blocks were played and read, or when it is interrupted.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_BYTES = 4096, BEHIND_BYTES = 4096 };
#define MAGIC 0x31414D4446574854u /* "THWFDMA1" */
#define ODD (1ull << 63)

// Places in the head, in bytes.
enum {
    AT_MAGIC = 0,
    AT_BUFFER_BYTES = 8,
    AT_BLOCK_BYTES = 16,
    AT_TRAILER_BYTES = 20,
    AT_BLOCK_MAGIC = 22,
    AT_PID = 24,
    AT_START_TIME = 32,
    AT_INSTANCE = 40,
    AT_WRITE_POINTER = 64,
    AT_HEARTBEAT = 128,
    AT_STOPPED = 136,
    AT_STALL_NS = 144,
    AT_READ_POINTER = 192,
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number) {
    (void)number;
    interrupted = 1;
}

static void fail(char const* what) {
    fprintf(stderr, "card: cannot %s (%s)\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sleep_ms(long ms) {
    struct timespec const time = {0, ms * 1000000};
    nanosleep(&time, NULL);
}

static _Atomic uint64_t* word(unsigned char* head, int at) { return (_Atomic uint64_t*)(void*)(head + at); }

static unsigned char* beating; // the head whose heartbeat a timer renews, also while the blocks come slowly

static void beat(int number) {
    (void)number;
    atomic_store_explicit(word(beating, AT_HEARTBEAT), now_ns(), memory_order_relaxed);
}

static void begin_to_beat(unsigned char* head) {
    struct itimerval const every = {{0, 100000}, {0, 100000}};
    struct sigaction const action = {.sa_handler = beat, .sa_flags = SA_RESTART};
    beating = head;
    beat(0);
    if (sigaction(SIGALRM, &action, NULL) != 0 || setitimer(ITIMER_REAL, &every, NULL) != 0)
        fail("begin the heartbeat");
}

// Field 22 of /proc/self/stat: the time at which this process began, in ticks since the machine did.
static uint64_t start_time(void) {
    char text[1024];
    FILE* const file = fopen("/proc/self/stat", "r");
    if (file == NULL || fgets(text, sizeof text, file) == NULL) fail("read /proc/self/stat");
    fclose(file);
    char* at = strrchr(text, ')') + 1; // the name of the program may have spaces
    for (int field = 3; field < 22; ++field) at = strchr(at + 1, ' ');
    return strtoull(at, NULL, 10);
}

// The write lock on the first byte says in every pid namespace that the card lives.
static struct flock first_byte(void) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    return lock;
}

// Removes the buffer of a card that is dead, and tells a handler that still reads it that this card is gone.
static void replace_dead_card(char const* path) {
    int const file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) return;
    if (file < 0) fail("open the buffer that is there");
    struct flock lock = first_byte();
    if (fcntl(file, F_OFD_GETLK, &lock) != 0) fail("look at the lock of the buffer");
    if (lock.l_type != F_UNLCK) {
        fprintf(stderr, "card: %s belongs to a card that lives: stop that one, or give this card another name\n", path);
        exit(2);
    }
    unsigned char* const head = mmap(NULL, HEAD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (head != MAP_FAILED && lseek(file, 0, SEEK_END) >= HEAD_BYTES) atomic_store(word(head, AT_HEARTBEAT), 0);
    unlink(path);
    close(file);
}

static unsigned char* make_buffer(char const* path, uint64_t buffer_bytes, uint32_t block_bytes, uint16_t magic) {
    int const makers = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (makers < 0 || flock(makers, LOCK_EX) != 0) fail("lock /dev/shm");
    replace_dead_card(path);
    int const file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    uint64_t const bytes = HEAD_BYTES + buffer_bytes + BEHIND_BYTES;
    if (file < 0) fail("create the buffer");
    errno = posix_fallocate(file, 0, (off_t)bytes); // a full /dev/shm is an error here, and SIGBUS later
    if (errno != 0) fail("get memory for the buffer");
    struct flock lock = first_byte();
    if (fcntl(file, F_OFD_SETLK, &lock) != 0) fail("lock the buffer"); // `file` stays open, and with it the lock
    unsigned char* const head = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (head == MAP_FAILED) fail("map the buffer");
    uint16_t const trailer_bytes = magic == 0xABCD ? 2 : 4;
    uint32_t const pid = (uint32_t)getpid();
    uint64_t const began = start_time();
    memcpy(head + AT_BUFFER_BYTES, &buffer_bytes, sizeof buffer_bytes);
    memcpy(head + AT_BLOCK_BYTES, &block_bytes, sizeof block_bytes);
    memcpy(head + AT_TRAILER_BYTES, &trailer_bytes, sizeof trailer_bytes);
    memcpy(head + AT_BLOCK_MAGIC, &magic, sizeof magic);
    memcpy(head + AT_PID, &pid, sizeof pid);
    memcpy(head + AT_START_TIME, &began, sizeof began);
    if (getrandom(head + AT_INSTANCE, 8, 0) != 8) fail("draw the instance");
    begin_to_beat(head);
    atomic_store_explicit(word(head, AT_MAGIC), MAGIC, memory_order_release); // from here on a handler may attach
    close(makers);
    return head;
}

// Returns how many blocks wait for the reader. `place` is where the card writes next, over two laps.
static uint64_t waiting(unsigned char* head, uint64_t place, uint64_t blocks, uint32_t block_bytes) {
    uint64_t const read = atomic_load_explicit(word(head, AT_READ_POINTER), memory_order_acquire);
    uint64_t const at = (read & ~ODD) / block_bytes + ((read & ODD) != 0 ? blocks : 0);
    uint64_t const ahead = (place + 2 * blocks - at) % (2 * blocks);
    int const makes_sense = (read & ~ODD) % block_bytes == 0 && (read & ~ODD) < blocks * block_bytes && ahead <= blocks;
    return makes_sense ? ahead : blocks; // overwrite nothing if the pointer cannot be right
}

static void publish(unsigned char* head, uint64_t place, uint64_t blocks, uint32_t block_bytes) {
    uint64_t const pointer = place % blocks * block_bytes | (place >= blocks ? ODD : 0);
    atomic_store_explicit(word(head, AT_WRITE_POINTER), pointer, memory_order_release); // after the bytes of the block
}

// Waits until fewer than `most` blocks wait for the reader, and counts the time for the handler.
static void wait_for_room(unsigned char* head, uint64_t place, uint64_t blocks, uint32_t block_bytes, uint64_t most) {
    uint64_t const began = now_ns();
    while (waiting(head, place, blocks, block_bytes) >= most && !interrupted) {
        sleep_ms(1);
    }
    atomic_fetch_add(word(head, AT_STALL_NS), now_ns() - began);
}

static uint32_t block_bytes_of(uint16_t magic) {
    return (magic & 0xC0FF) == 0xC0CE ? 1024u * ((magic >> 8 & 0x3F) + 1u) : 1024u;
}

int main(int argc, char** argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: card NAME BUFFER_KIB < blocks\n");
        return 2;
    }
    struct sigaction const action = {.sa_handler = on_signal}; // without SA_RESTART: it ends a read of the blocks
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    unsigned char first[4];
    if (fread(first, 1, sizeof first, stdin) != sizeof first) fail("read a block");
    uint16_t const magic = (uint16_t)(first[2] | first[3] << 8);
    uint32_t const block_bytes = block_bytes_of(magic);
    uint64_t const blocks = strtoull(argv[2], NULL, 10) * 1024 / block_bytes;
    if (blocks == 0) {
        fprintf(stderr, "card: %s KiB are no buffer: give at least %u\n", argv[2], block_bytes / 1024);
        return 2;
    }
    char path[256];
    snprintf(path, sizeof path, "/dev/shm/thalweg-felix-%s-0", argv[1]);
    unsigned char* const head = make_buffer(path, blocks * block_bytes, block_bytes, magic);
    uint64_t place = 0, played = 0;
    size_t have = sizeof first;
    while (!interrupted) {
        wait_for_room(head, place, blocks, block_bytes, blocks);
        if (interrupted) break;
        unsigned char* const block = head + HEAD_BYTES + place % blocks * block_bytes;
        memcpy(block, first, have);
        have += fread(block + have, 1, block_bytes - have, stdin);
        if (have < block_bytes) break; // the end
        have = 0;
        place = (place + 1) % (2 * blocks);
        publish(head, place, blocks, block_bytes);
        ++played;
    }
    wait_for_room(head, place, blocks, block_bytes, 1);
    atomic_store_explicit(word(head, AT_STOPPED), 1, memory_order_release);
    unlink(path);
    printf("%llu blocks were played\n", (unsigned long long)played);
    if (have == 0 || interrupted) return 0;
    fprintf(stderr, "card: the last block was not played (it has %zu of %u bytes)\n", have, block_bytes);
    return 1;
}
