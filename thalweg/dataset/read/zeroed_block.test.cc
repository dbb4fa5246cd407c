// Blocks that read as zeros: holes, writes that were lost, sectors that a disk has given up.
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <sys/resource.h>

#include "thalweg/base/units.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/read/verify.h"
#include "thalweg/dataset/testing.h"
#include "thalweg/format/rntuple/format.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {
namespace {

using namespace testing;
using Bytes = std::vector<std::byte>;
using Values = std::vector<Bytes>; // by column

model::Schema hits() {
    return {{{"far/away",
              {scalar("id", model::Scalar::uint64), list("hits", scalar("hit", model::Scalar::uint16)),
               scalar("noise", model::Scalar::uint8, {50})},
              "a table"}}};
}

void write_random_rows(Writer& writer, std::uint64_t seed, std::uint64_t rows) {
    auto producer = writer.producer("far/away");
    std::vector<std::uint64_t> ids, lengths;
    std::vector<std::uint16_t> values;
    Bytes noise;
    for (std::uint64_t row = 0; row < rows; ++row) {
        ids.push_back(row * 1'000'003);
        lengths.push_back(row % 7);
        for (std::uint64_t i = 0; i < row % 7; ++i) values.push_back(static_cast<std::uint16_t>(row * i * 31));
        for (int i = 0; i < 50; ++i) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            noise.push_back(static_cast<std::byte>(seed >> 56));
        }
    }
    std::span<std::byte const> const columns[] = {std::as_bytes(std::span(ids)), std::as_bytes(std::span(lengths)),
                                                  std::as_bytes(std::span(values)), std::span(noise)};
    producer.append(rows, columns);
    producer.finish();
}

void write_file(std::string const& path, std::string const& codec) {
    CreateOptions options;
    options.layout.wide_codec = options.layout.narrow_codec = codec;
    options.layout.narrow_page_bytes = 4096;
    auto const writer = Writer::create(path, hits(), options);
    write_random_rows(*writer, 1, 900);
    write_random_rows(*writer, 2, 350);
    writer->close(kTimeoutNs);
}

Values read_all(Reader const& reader) {
    Values values;
    auto const rows = reader.rows(0);
    auto const elements = reader.elements(0, 1, {0, rows});
    for (std::size_t column = 0; column < reader.head().columns[0].size(); ++column) {
        auto const& facts = reader.head().columns[0][column];
        ItemRange const range = facts.parent ? elements : ItemRange{0, rows};
        Bytes bytes(range.count * facts.item_bytes());
        reader.read(0, column, range, bytes, {.threads = 1});
        values.push_back(std::move(bytes));
    }
    return values;
}

Values read_all(std::string const& path) { return read_all(*Reader::open(path)); }

struct Bounds {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

// Footers that were written when the run began, before it had a row: nothing refers to them any more.
std::vector<Bounds> dead_footers(Reader const& reader) {
    auto const empty = storage::make_memory_storage("empty.root");
    auto const end = format::rntuple::rntuple_format().begin(*empty, reader.head());
    return {{end - 4096, end}};
}

// What producers wrote and no page of the file is: lengths, of which the file has the sums (docs/decisions/0005), and
// what fills extents up. Pages of sums were made when the file was completed, behind all extents.
std::vector<Bounds> dead_lengths(Reader const& reader) {
    std::vector<Bounds> pages;
    std::uint64_t extents_end = ~std::uint64_t{0};
    for (auto const& column : reader.tables()[0].columns) {
        for (auto const& page : column.pages) {
            pages.push_back({page.offset, page.offset + page.stored_bytes});
            if (page.sums) extents_end = std::min(extents_end, page.offset);
        }
    }
    std::ranges::sort(pages, {}, &Bounds::begin);
    std::vector<Bounds> dead;
    std::uint64_t at = base::kBlockBytes;
    for (auto const& page : pages) {
        if (page.begin > extents_end) break;
        if (page.begin > at) dead.push_back({at, page.begin});
        at = std::max(at, page.end);
    }
    return dead;
}

// libhdf5 comes to no end with zeros in some places. How long its process may take to find none is not what is tested.
void wait_briefly_for_libhdf5() { ASSERT_EQ(::setenv("THALWEG_HDF5_READER_SECONDS", "1", 1), 0); }

class ZeroedBlock : public ::testing::TestWithParam<std::tuple<std::string, std::string, std::uint64_t>> {
  protected:
    void SetUp() override { wait_briefly_for_libhdf5(); }
};

TEST_P(ZeroedBlock, IsFoundByVerifyAndNeverReadAsValues) {
    auto const& [name, codec, block_bytes] = GetParam();
    Directory const directory;
    auto const path = directory.file(name);
    write_file(path, codec);
    auto const right = read_all(path);
    ASSERT_EQ(verify(path).faults, 0u);
    auto const file = storage::open_file_storage(path, storage::OpenMode::read_write, storage::Engine::posix);
    auto const dead = path.ends_with(".root") ? dead_footers(*Reader::open(path)) : dead_lengths(*Reader::open(path));
    Bytes const zeros(block_bytes);
    std::uint64_t found = 0, refused = 0;
    for (std::uint64_t at = 0; at < file->size(); at += block_bytes) {
        Bytes block(std::min(block_bytes, file->size() - at));
        file->read(at, block);
        bool const holds_nothing = std::ranges::all_of(block, [](auto byte) { return byte == std::byte{}; });
        bool const is_dead = std::ranges::any_of(
            dead, [&](Bounds const& each) { return at >= each.begin && at + block.size() <= each.end; });
        if (holds_nothing || is_dead) continue;
        file->write(at, std::span(zeros).first(block.size()));
        std::uint64_t faults = 0;
        auto const said = message_of([&] { faults = verify(path, 1).faults; });
        EXPECT_TRUE(faults > 0 || !said.empty()) << "verify does not see the zeros at " << at;
        found += faults > 0 || !said.empty() ? 1 : 0;
        refused += message_of([&] { EXPECT_EQ(read_all(path), right) << "block at " << at; }).empty() ? 0 : 1;
        file->write(at, block);
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_EQ(read_all(path), right);
    EXPECT_GT(found, 12u);
    EXPECT_GT(refused, 10u);
}

double cpu_seconds_of_children() {
    rusage used{};
    ::getrusage(RUSAGE_CHILDREN, &used);
    auto const seconds = [](timeval const& time) { return static_cast<double>(time.tv_sec) + time.tv_usec * 1e-6; };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// libhdf5 comes to no end with zeros where texts of attributes are, and rows do not need these.
TEST(ZeroedHeap, CostsTheAttributesAndNoRows) {
    Directory const directory;
    auto const path = directory.file("run.h5");
    write_file(path, "none");
    auto const right = read_all(path);
    auto const file = storage::open_file_storage(path, storage::OpenMode::read_write, storage::Engine::posix);
    std::string bytes(file->size(), '\0');
    file->read(0, std::as_writable_bytes(std::span(bytes)));
    auto const heap = bytes.rfind("GCOL");
    ASSERT_NE(heap, bytes.npos);
    file->write(heap + 16, Bytes(512)); // its objects, and not its head
    auto const before = cpu_seconds_of_children();
    wait_briefly_for_libhdf5();
    auto const reader = Reader::open(path);
    EXPECT_LT(cpu_seconds_of_children() - before, 3);
    EXPECT_EQ(read_all(*reader), right);
    ASSERT_EQ(reader->left_out().size(), 1u);
    EXPECT_NE(reader->left_out()[0].why.find("libhdf5 came to no end"), std::string::npos) << reader->left_out()[0].why;
}

INSTANTIATE_TEST_SUITE_P(Containers, ZeroedBlock,
                         ::testing::Combine(::testing::Values("run.h5", "run.root"),
                                            ::testing::Values("none", "zstd-1"),
                                            ::testing::Values(std::uint64_t{4096}, std::uint64_t{512})));

} // namespace
} // namespace thalweg::dataset
