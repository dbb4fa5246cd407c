// The program that the tests of faults kill. It reports on stdout, in one write per line, what has happened so far:
//
//   fault_driver write PATH PRODUCERS ROWS   each producer is a process and writes so many rows, the last one a tenth;
//                                            PATH determines the container
//     handle NAME            the run is open
//     process WHO PID        producer WHO is about to attach
//     rows WHO COUNT         append returned: so many rows of producer WHO are published
//     finished WHO
//     closing                the creator is about to close
//     closed ROWS            the file is complete
//     error WHO MESSAGE      (the creator: -1)
//   fault_driver far PATH       writes 3000 rows of producer 0 behind a hole of 5 GiB: closed ROWS
//   fault_driver recover PATH   recovered ROWS LOST, then a line `note ...` for each
//   fault_driver check PATH     sound WHO COUNT ...: every row is what its producer wrote, from its first on
//   fault_driver verify PATH    sound PAGES
//   fault_driver durable PATH   does the same as check for what the journal has up to its last BARRIER
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "thalweg/base/error.h"
#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/read/verify.h"
#include "thalweg/dataset/run/attach.h"
#include "thalweg/dataset/test_bad_day.h"

namespace {

using namespace thalweg;
using namespace thalweg::dataset;
using dataset::testing::append_events;
using dataset::testing::events;
using dataset::testing::hits_of;
using dataset::testing::sample;

constexpr std::uint64_t kSamples = 200;
constexpr std::uint64_t kFarOffset = 5ull << 30;

void say(std::string line) {
    line += '\n';
    static_cast<void>(!::write(STDOUT_FILENO, line.data(), line.size()));
}

// Pages, clusters and extents are small and interim footers frequent, so that a short run has many of each.
CreateOptions create_options() {
    CreateOptions options;
    options.layout.wide_page_bytes = 4 << 10;
    options.layout.narrow_page_bytes = 4 << 10;
    options.layout.block_bytes = 64 << 10;
    options.layout.cluster_bytes = 1; // as small as the container allows
    options.commit.flush_interval_ns = 20'000'000;
    options.commit.interim_footer_share = 1;
    options.commit.allocate_ahead_bytes = 16 << 20;
    options.write.extent_bytes = 32 << 10;
    options.write.staging = {64 << 10, 3, 64, 256 << 10};
    return options;
}

// The last producer is a slow stream: its rows reach the journal before they fill a page. It writes a tenth.
void produce(std::string const& handle, std::uint8_t who, unsigned producers, std::uint64_t rows) {
    say(fmt::format("process {} {}", who, ::getpid()));
    bool const slow = who + 1u == producers;
    if (slow) rows /= 10;
    auto producer = Producer(attach(handle, who % 3 == 2 ? 2 : 0), 0);
    std::mt19937 random(who);
    for (std::uint64_t row = 0; row < rows;) {
        auto const count = std::min<std::uint64_t>(rows - row, 1 + random() % (slow ? 3 : 60));
        append_events(producer, who, row, count, kSamples);
        row += count;
        say(fmt::format("rows {} {}", who, row));
        std::this_thread::sleep_for(std::chrono::microseconds(slow ? 1000 : 300));
    }
    producer.finish();
    say(fmt::format("finished {}", who));
}

int guarded(int who, std::function<void()> const& work) {
    try {
        work();
        return 0;
    } catch (std::exception const& error) {
        say(fmt::format("error {} {}", who, error.what()));
        return 1;
    }
}

// The creator forks while it has no threads; each producer reads the handle from a pipe of its own.
int write_run(std::string const& path, unsigned producers, std::uint64_t rows) {
    std::vector<int> pipes;
    for (unsigned who = 0; who < producers; ++who) {
        int ends[2];
        if (::pipe(ends) != 0) return 2;
        pipes.push_back(ends[1]);
        if (::fork() != 0) continue;
        for (int const other : pipes) ::close(other);
        char handle[2048] = {};                                          // it contains a folder if /dev/shm has no room
        if (::read(ends[0], handle, sizeof handle - 1) <= 0) ::_exit(1); // the creator is dead
        ::_exit(
            guarded(static_cast<int>(who), [&] { produce(handle, static_cast<std::uint8_t>(who), producers, rows); }));
    }
    return guarded(-1, [&] {
        auto const writer = Writer::create(path, events(kSamples), create_options());
        auto const handle = writer->handle();
        say("handle " + handle);
        for (int const end : pipes) static_cast<void>(!::write(end, handle.data(), handle.size()));
        while (::wait(nullptr) > 0) {
        }
        say("closing");
        say(fmt::format("closed {}", writer->close(10'000'000'000).report.tables[0].rows));
    });
}

// Writes as if 5 GiB had been claimed before: they are a hole in a sparse file, so the test does not wait for them.
void write_far(std::string const& path) {
    auto options = create_options();
    options.whole_file_checksum = false;
    auto const writer = Writer::create(path, events(kSamples), options);
    auto const ledger = Ledger::attach(writer->handle());
    ledger->head().claimable = kFarOffset;
    ledger->head().claimed = kFarOffset;
    auto producer = writer->producer("events");
    append_events(producer, 0, 0, 3000, kSamples);
    producer.finish();
    say(fmt::format("closed {}", writer->close(10'000'000'000).report.tables[0].rows));
}

template <class Value> std::vector<Value> items(Reader const& reader, std::size_t column, ItemRange const& range) {
    std::vector<Value> values(range.count * reader.head().columns[0][column].values_per_item);
    reader.read(0, column, range, std::as_writable_bytes(std::span(values)));
    return values;
}

void check(std::string const& path) {
    auto const reader = Reader::open(path);
    auto const rows = reader->rows(0);
    auto const producers = items<std::uint8_t>(*reader, 0, {0, rows});
    auto const ids = items<std::uint64_t>(*reader, 1, {0, rows});
    auto const waveforms = items<std::uint16_t>(*reader, 2, {0, rows});
    auto const lengths = items<std::uint64_t>(*reader, 3, {0, rows});
    auto const hits = items<std::uint16_t>(*reader, 4, reader->elements(0, 3, {0, rows}));
    std::map<unsigned, std::uint64_t> next;
    std::uint64_t hit = 0;
    for (std::uint64_t row = 0; row < rows; ++row) {
        auto const who = producers[row];
        if (ids[row] != next[who]++) {
            base::fail_data(
                {fmt::format("row {} is row {} of producer {}, not {}", row, ids[row], who, next[who] - 1)});
        }
        bool right = lengths[row] == hits_of(who, ids[row]) && hit + lengths[row] <= hits.size();
        for (std::uint64_t i = 0; right && i < kSamples; ++i)
            right = waveforms[row * kSamples + i] == sample(who, ids[row], i);
        for (std::uint64_t i = 0; right && i < lengths[row]; ++i) right = hits[hit++] == sample(who, ids[row], 100 + i);
        if (!right) base::fail_data({fmt::format("row {} is wrong", row)});
    }
    std::string line = "sound";
    for (auto const& [who, count] : next) line += fmt::format(" {} {}", who, count);
    say(line);
}

void verify_file(std::string const& path) {
    auto const result = verify(path);
    if (result.faults > 0) base::fail_data({result.messages[0]});
    say(fmt::format("sound {}", result.pages));
}

// Cuts a copy of the journal where its last BARRIER ends, and checks the run that the rest describes.
void check_durable(std::string const& path) {
    std::uint64_t end = 0;
    std::shared_ptr const journal = storage::open_file_storage(journal_path(path), storage::OpenMode::read_only);
    read_journal(journal, [&](JournalRecord const& record) {
        if (record.type == RecordType::head) end = record.end_offset;
        if (record.type == RecordType::barrier) std::memcpy(&end, record.payload.data(), sizeof end);
        return true;
    });
    auto const copy = path + ".durable" + std::filesystem::path(path).extension().string();
    std::filesystem::copy_file(journal_path(path), journal_path(copy));
    std::filesystem::resize_file(journal_path(copy), end);
    auto const later = segments_beside(journal_path(path))->list();
    for (auto const number : later) {
        auto const name = fmt::format(".{}", number);
        std::filesystem::copy_file(journal_path(path) + name, journal_path(copy) + name);
    }
    std::filesystem::create_hard_link(path, copy);
    check(copy);
    for (auto const number : later) std::filesystem::remove(journal_path(copy) + fmt::format(".{}", number));
    std::filesystem::remove(copy);
    std::filesystem::remove(journal_path(copy));
}

void recover_run(std::string const& path) {
    auto const result = recover(path);
    say(fmt::format("recovered {} {}", result.report.tables[0].rows, result.report.tables[0].lost_rows));
    for (auto const& note : result.report.notes) say("note " + note);
}

} // namespace

int main(int count, char** words) {
    std::vector<std::string> const arguments(words + 1, words + count);
    if (arguments.size() == 4 && arguments[0] == "write") {
        return write_run(arguments[1], static_cast<unsigned>(std::stoul(arguments[2])), std::stoull(arguments[3]));
    }
    if (arguments.size() != 2) return 2;
    std::map<std::string, void (*)(std::string const&)> const verbs{{"far", write_far},
                                                                    {"recover", recover_run},
                                                                    {"check", check},
                                                                    {"durable", check_durable},
                                                                    {"verify", verify_file}};
    auto const verb = verbs.find(arguments[0]);
    return verb == verbs.end() ? 2 : guarded(-1, [&] { verb->second(arguments[1]); });
}
