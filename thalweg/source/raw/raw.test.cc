#include "thalweg/source/raw/raw.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "thalweg/source/raw/testing.h"
#include "thalweg/source/testing.h"

namespace thalweg::source::testing {
namespace {

std::filesystem::path folder() {
    struct Folder {
        std::filesystem::path path = ::testing::TempDir() + "raw_rows_" + std::to_string(::getpid());
        Folder() { std::filesystem::create_directories(path); }
        ~Folder() { std::filesystem::remove_all(path); }
    };
    static Folder const folder;
    return folder.path;
}

// Two files of 400 rows, each larger than what is read at once.
std::unique_ptr<Source> raw_files(bool with_lists) {
    raw::RawOptions options{.batch_bytes = 20'000};
    for (std::uint16_t file = 0; file < 2; ++file) {
        auto row = with_lists ? raw::testing::listed_row() : raw::testing::synced_row();
        row.table = "t" + std::to_string(file);
        row.max_row_bytes = 4000;
        if (!with_lists) row.fields.push_back({.name = "more", .shape = {1990}});
        raw::testing::Content bytes;
        for (std::uint16_t i = 0; i < 400; ++i) {
            raw::testing::put(bytes, with_lists ? raw::testing::listed(static_cast<std::uint16_t>(900 + file + i % 7))
                                                : raw::testing::synced(i));
            if (!with_lists) bytes.resize(bytes.size() + 1990, std::byte{static_cast<unsigned char>(file + i)});
        }
        auto const path = folder() / (row.table + (with_lists ? "_lists" : ""));
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<char const*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        options.streams.push_back({.input = path.string(), .row = row});
    }
    return raw::make_raw(std::move(options));
}

TEST(RawSource, RefusesWhatIsNoAddressBeforeItIsOpened) {
    for (auto const* const input :
         {"tcp://127.0.0.1", "listen:many", "udp://127.0.0.1:70000", "udp://127.0.0.1:1?peer=:2"})
        EXPECT_THROW(raw::make_raw({.streams = {{.input = input, .row = raw::testing::synced_row()}}}),
                     base::UsageError)
            << input;
}

INSTANTIATE_TEST_SUITE_P(Raw, AnySource,
                         ::testing::Values(Candidate{"RawRows", [] { return raw_files(false); }},
                                           Candidate{"RawLists", [] { return raw_files(true); }}),
                         [](auto const& candidate) { return candidate.param.name; });

} // namespace
} // namespace thalweg::source::testing
