// Whole files, mutated: nothing that happens to a file may harm the process that reads it, or give wrong values.
// THALWEG_MUTATIONS says how many of each are tried.
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/files/test_foreign.h"
#include "thalweg/format/hdf5/files/test_run.h"
#include "thalweg/format/hdf5/reader/process.h"
#include "thalweg/format/hdf5/reader/run_map_bytes.h"

namespace thalweg::format::hdf5::files {
namespace {

using model::Scalar;
using Values = std::vector<Bytes>;

int mutations(int by_default) {
    auto const* text = std::getenv("THALWEG_MUTATIONS");
    return text != nullptr ? std::atoi(text) : by_default;
}

// A reader of a column knows how much memory there is; a damaged extent may be any number.
void check_size(model::RunMap const& map, std::size_t table, std::size_t column) {
    auto const& pages = map.tables[table].columns[column].pages;
    auto const items = pages.empty() ? 0 : pages.back().first + pages.back().count;
    if (items > (1 << 28) / map.head.columns[table][column].item_bytes()) base::fail_data({"too large for a test"});
}

Values values_of(model::RunMap const& map, storage::Storage const& file) {
    Values values;
    for (std::size_t t = 0; t < map.tables.size(); ++t) {
        for (std::size_t c = 0; c < map.tables[t].columns.size(); ++c) {
            check_size(map, t, c);
            values.push_back(TestRun::read(map, file, t, c));
        }
    }
    return values;
}

// What disks, cables and programs do to files. From `begin` on.
void mutate(Bytes& bytes, std::size_t begin, std::mt19937_64& random) {
    auto const somewhere = [&](std::size_t room) { return begin + random() % (bytes.size() - begin - room); };
    switch (random() % 8) {
    case 0:
        bytes.resize(begin + random() % (bytes.size() - begin));
        return;
    case 1: // zeros
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(somewhere(64)), 1 + random() % 64, std::byte{});
        return;
    case 2: // what belongs elsewhere
        std::copy_n(Bytes(bytes).begin() + static_cast<std::ptrdiff_t>(somewhere(64)), 1 + random() % 64,
                    bytes.begin() + static_cast<std::ptrdiff_t>(somewhere(64)));
        return;
    case 3: // a number that is as large as can be
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(somewhere(8)), 1 + random() % 8, std::byte{0xff});
        return;
    default:
        for (auto flips = 1 + random() % 4; flips > 0; --flips) {
            bytes[somewhere(1)] ^= std::byte{1} << static_cast<int>(random() % 8);
        }
    }
}

std::unique_ptr<storage::Storage> file_of(Bytes const& bytes, std::string const& name) {
    auto file = storage::make_memory_storage(name);
    file->resize(bytes.size());
    if (!bytes.empty()) file->write(0, bytes);
    return file;
}

struct Outcomes {
    int read = 0, refused = 0, crashed = 0;

    void count(std::string const& why) { ++(why.empty() ? read : why.find("crashed") == why.npos ? refused : crashed); }
    void show() const {
        fmt::print("{} read, {} refused, {} of these crashed libhdf5\n", read, refused + crashed, crashed);
    }
};

model::Schema own_schema() {
    return {{{"event",
              {scalar_field("id", Scalar::uint32), scalar_field("noise", Scalar::uint8, {40}),
               list_field("hits", scalar_field("energy", Scalar::float32)), string_field("name")},
              "events"}}};
}

TEST(Mutation, AFileOfOursGivesItsValuesOrAnError) {
    TestRun run(own_schema(), {2048, 256, 4 << 20, 2048, "bitshuffle+lz4", "bitshuffle+lz4"});
    for (auto const rows : {700u, 90u, 1u}) run.add_part(0, rows);
    run.facts.units.assign(500, std::byte{'u'});
    run.complete();
    auto const whole = contents(*run.file);
    auto const expected = values_of(hdf5_format().load(*run.file), *run.file);
    std::mt19937_64 random(1);
    Outcomes outcomes;
    for (int i = 0; i < mutations(60); ++i) {
        auto bytes = whole;
        // Pages: any decoder is tried by its own test. Metadata and head: what libhdf5 reads.
        mutate(bytes, i % 4 == 0 ? 0 : run.facts.end_offset, random);
        auto const file = file_of(bytes, "run.h5");
        std::string why;
        try {
            auto const map = hdf5_format().load(*file);
            EXPECT_EQ(model::to_json(map.head.schema), model::to_json(run.head.schema)) << i;
            EXPECT_EQ(values_of(map, *file), expected) << i;
        } catch (base::DataError const& error) {
            why = error.what();
        }
        outcomes.count(why);
        ASSERT_FALSE(HasFailure()) << "mutation " << i;
    }
    auto const sound = file_of(whole, "run.h5"); // the heap of this process is as it was
    EXPECT_EQ(values_of(hdf5_format().load(*sound), *sound), expected);
    outcomes.show();
    EXPECT_GT(outcomes.refused, 0);
}

TEST(Mutation, AForeignFileDoesNotHarmWhoReadsIt) {
    ForeignFile foreign;
    std::vector<std::int32_t> numbers(3000);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(i * 7 % 100);
    foreign.dataset("/a/chunked", H5T_NATIVE_INT32, numbers, {3000}, {100}, "shuffle+deflate");
    foreign.dataset("/a/plain", H5T_NATIVE_INT32, numbers, {3000});
    foreign.dataset("/a/wide", H5T_NATIVE_INT32, numbers, {1000, 3}, {50, 3});
    foreign.dataset("/b/split", H5T_NATIVE_INT32, numbers, {30, 10, 10}, {7, 3, 4}, "shuffle+deflate");
    foreign.dataset("/b/raw", H5T_STD_I32BE, numbers, {30, 100}, {30, 32});
    ForeignFile::write(foreign.create("/c/checked", H5T_STD_I32LE, {3000},
                                      [](hid_t creation) {
                                          hsize_t const chunk = 500;
                                          H5Pset_chunk(creation, 1, &chunk);
                                          H5Pset_fletcher32(creation);
                                          H5Pset_shuffle(creation);
                                      }),
                       numbers);
    ForeignFile::write(foreign.create("/d/compact", H5T_STD_I32BE, {3000},
                                      [](hid_t creation) { H5Pset_layout(creation, H5D_COMPACT); }),
                       numbers);
    foreign.attribute("/a", "datatype", "table{chunked,plain,wide}");
    foreign.attribute("/a/plain", "units", "ns");
    auto const whole = contents(*foreign.storage());
    std::mt19937_64 random(2);
    Outcomes outcomes;
    for (int i = 0; i < mutations(60); ++i) {
        auto bytes = whole;
        mutate(bytes, 0, random);
        auto const file = file_of(bytes, "foreign.h5");
        std::string why;
        try {
            values_of(hdf5_format().load(*file), *file);
        } catch (base::Error const& error) {
            why = error.what();
        }
        outcomes.count(why);
    }
    auto const sound = file_of(whole, "foreign.h5"); // the heap of this process is as it was
    auto const values = values_of(hdf5_format().load(*sound), *sound);
    ASSERT_EQ(values.size(), 7u); // `wide`, which has other rows, is a table of its own
    for (auto const& each : values) {
        EXPECT_TRUE(std::ranges::equal(each, std::as_bytes(std::span(numbers))));
    }
    outcomes.show();
    EXPECT_GT(outcomes.refused, 0);
    EXPECT_GT(outcomes.read, 0); // what lies between metadata does no harm
}

// The answer of a process that has lost its mind.
TEST(Mutation, AMapThatIsNoneIsRefused) {
    TestRun run(own_schema());
    run.add_part(0, 100);
    run.complete();
    auto const map = hdf5_format().load(*run.file);
    auto const bytes = reader::to_bytes(map);
    EXPECT_EQ(reader::to_bytes(reader::run_map_from_bytes(bytes)), bytes);
    std::mt19937_64 random(3);
    for (int i = 0; i < 2000; ++i) {
        auto damaged = bytes;
        mutate(damaged, 0, random);
        if (damaged != bytes) {
            EXPECT_THROW(reader::run_map_from_bytes(damaged), base::DataError);
        }
        if (damaged.size() <= 8) continue;
        damaged.resize(damaged.size() - 8); // with a checksum that fits
        auto const checksum = base::xxh3(damaged);
        auto const tail = std::as_bytes(std::span(&checksum, 1));
        damaged.insert(damaged.end(), tail.begin(), tail.end());
        try {
            reader::run_map_from_bytes(damaged);
        } catch (base::Error const&) {
            // or it is another map
        }
    }
}

class Programs : public ::testing::Test {
  protected:
    Programs() : path_(fmt::format("/tmp/thalweg-test-program-{}", ::getpid())) {}
    ~Programs() override {
        ::unsetenv("THALWEG_HDF5_READER");
        std::filesystem::remove(path_);
    }
    std::string load_with(std::string const& script) {
        std::ofstream(path_) << "#!/bin/sh\n" << script << "\n";
        std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
        ::setenv("THALWEG_HDF5_READER", path_.c_str(), 1);
        ForeignFile foreign;
        foreign.dataset("/a/x", H5T_NATIVE_INT32, std::vector<std::int32_t>{1, 2, 3}, {3});
        try {
            hdf5_format().load(*foreign.storage());
        } catch (base::Error const& error) {
            return error.what();
        }
        return "";
    }

  private:
    std::string path_;
};

TEST_F(Programs, ACrashIsAnErrorThatSaysSo) {
    EXPECT_EQ(load_with("kill -SEGV $$").find("foreign.h5 cannot be read (libhdf5 crashed on it: Segmentation fault"),
              0u);
    EXPECT_EQ(load_with("kill -PROF $$").find("foreign.h5 cannot be read (libhdf5 came to no end with it"), 0u);
    EXPECT_EQ(load_with("exit 7").find("foreign.h5 cannot be read (the program that reads it ended with exit code 7"),
              0u);
    EXPECT_EQ(load_with("echo nonsense >&0; exec sleep 0").find("foreign.h5 cannot be read ("), 0u);
}

TEST_F(Programs, AMissingProgramIsAnErrorThatSaysSo) {
    ::setenv("THALWEG_HDF5_READER", "/nowhere/at/all", 1);
    ForeignFile foreign;
    foreign.dataset("/a/x", H5T_NATIVE_INT32, std::vector<std::int32_t>{1, 2, 3}, {3});
    EXPECT_THROW(hdf5_format().load(*foreign.storage()), base::SystemError);
}

} // namespace
} // namespace thalweg::format::hdf5::files
