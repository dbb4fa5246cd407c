#include "thalweg/source/compass.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>
#include <unistd.h>

#include "thalweg/base/error.h"
#include "thalweg/model/column.h"
#include "thalweg/source/random.h"

namespace thalweg::source {
namespace {

// Writes bytes as CoMPASS does.
class CompassBytes {
  public:
    explicit CompassBytes(std::uint16_t header) : header_(header) {}

    CompassBytes& begin() { return put(header_); }
    CompassBytes& record(std::uint16_t board, std::uint16_t channel, std::uint64_t time_ps, std::uint32_t samples) {
        put(board).put(channel).put(time_ps);
        if (header_ & 1) put(std::uint16_t{1200});
        if (header_ & 2) put(511.5);
        if (header_ & 4) put(std::uint16_t{300});
        put(std::uint32_t{0x4000});
        if (!(header_ & 8)) return *this;
        put(std::uint8_t{1}).put(samples);
        for (std::uint32_t i = 0; i < samples; ++i) put(static_cast<std::uint16_t>(2800 + i));
        return *this;
    }
    template <typename Value> CompassBytes& put(Value value) {
        auto const bytes = std::as_bytes(std::span(&value, 1));
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        return *this;
    }
    std::vector<std::byte> const& bytes() const { return bytes_; }

  private:
    std::uint16_t header_;
    std::vector<std::byte> bytes_;
};

template <typename Value> Value value_at(RowSet const& rows, std::string const& path, std::size_t index) {
    auto const columns = model::flatten(rows.table);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (columns[i].path != path || columns[i].role != model::Column::Role::values) continue;
        Value value;
        std::memcpy(&value, rows.columns[i].data() + index * sizeof value, sizeof value);
        return value;
    }
    throw std::runtime_error("no column " + path);
}

std::vector<RowSet> parse(std::vector<std::byte> const& bytes, CompassOptions const& options = {}) {
    return parse_compass(bytes, "run.BIN", options).tables;
}

std::string error_of(std::vector<std::byte> const& bytes) {
    try {
        parse(bytes);
    } catch (base::DataError const& error) {
        return error.what();
    }
    return "";
}

std::vector<std::byte> small_file() {
    CompassBytes file(0xCAED);
    file.begin();
    for (std::uint64_t i = 0; i < 20; ++i) file.record(0, i % 2 ? 1 : 3, 1000 * (20 - i), 30);
    return file.bytes();
}

TEST(Compass, EveryChannelIsATable) {
    auto const row_sets = parse(small_file());
    ASSERT_EQ(row_sets.size(), 2u);
    EXPECT_EQ(row_sets[0].table.name, "ch1");
    EXPECT_EQ(row_sets[1].table.name, "ch3");
    EXPECT_EQ(row_sets[1].rows, 10u);
    EXPECT_EQ(value_at<std::uint64_t>(row_sets[1], "timestamp", 1), 18'000u); // not sorted, and left so
    EXPECT_EQ(value_at<std::uint16_t>(row_sets[1], "energy", 9), 1200);
    EXPECT_EQ(value_at<std::uint16_t>(row_sets[1], "energy_short", 9), 300);
    EXPECT_EQ(value_at<std::uint32_t>(row_sets[1], "flags", 9), 0x4000u);
    EXPECT_EQ(value_at<std::uint16_t>(row_sets[1], "waveform/values", 9 * 30 + 7), 2807);
    EXPECT_TRUE(std::isnan(value_at<float>(row_sets[1], "waveform/dt", 0)));
}

TEST(Compass, AllCombinationsOfContentAreReplayed) {
    for (std::uint16_t bits = 0; bits < 16; ++bits) {
        auto const header = static_cast<std::uint16_t>(0xCAE0 + bits);
        auto const bytes =
            CompassBytes(header).begin().record(0, 0, 1, 5).record(0, 0, 2, 6).record(2, 7, 3, 0).bytes();
        auto const row_sets = parse(bytes);
        ASSERT_EQ(row_sets.size(), 2u);
        EXPECT_EQ(row_sets[0].table.name, "board0/ch0");
        EXPECT_EQ(row_sets[1].table.name, "board2/ch7");
        if (bits & 2) {
            EXPECT_EQ(value_at<double>(row_sets[0], "energy_calibrated", 1), 511.5);
        }
        if (bits & 8) {
            EXPECT_EQ(value_at<std::uint16_t>(row_sets[0], "waveform/values/*", 5), 2800); // a list
        }
        auto const source = make_replay(row_sets, {.loops = 2});
        Batch batch;
        EXPECT_TRUE(source->open(0)->next(batch, 0));
        EXPECT_EQ(batch.rows, 2u);
    }
}

TEST(Compass, SplitFilesNeedTheHeaderOfTheFirst) {
    auto const bytes = CompassBytes(0xCAED).record(0, 1, 5, 4).bytes();
    EXPECT_NE(error_of(bytes).find("0x0000 instead of 0xCAE0 to 0xCAEF"), std::string::npos) << error_of(bytes);
    EXPECT_EQ(parse(bytes, {.header = 0xCAED})[0].rows, 1u);
    EXPECT_THROW(parse(bytes, {.header = 0xBEEF}), base::UsageError);
    EXPECT_NE(error_of(bytes).find("such as 0xCAED, with --compass-header"), std::string::npos) << error_of(bytes);
    EXPECT_EQ(parse(small_file(), {.header = 0xCAED}).size(), 2u);
    EXPECT_THROW(parse(small_file(), {.header = 0xCAE9}), base::UsageError); // it has another one
}

TEST(Compass, EveryTruncationIsFoundAndPlaced) {
    auto const bytes = small_file();
    auto const record_bytes = (bytes.size() - 2) / 20;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        std::vector<std::byte> const cut{bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
        if (size < 2 + record_bytes && size != 2) { // no record is whole
            auto const offset = size < 2 ? "offset 0" : "offset 2";
            EXPECT_NE(error_of(cut).find(offset), std::string::npos) << size << ": " << error_of(cut);
            continue;
        }
        auto const found = parse_compass(cut, "run.BIN", {});
        std::uint64_t rows = 0;
        for (auto const& table : found.tables) rows += table.rows;
        EXPECT_EQ(rows, (size - 2) / record_bytes) << size;
        auto const left = (size - 2) % record_bytes;
        auto const said = fmt::format("{} bytes are left over at offset {}", left, size - left);
        EXPECT_EQ(found.cut.find(said) != std::string::npos, left > 0) << size << ": " << found.cut;
        EXPECT_EQ(found.cut.empty(), left == 0) << size;
    }
}

// A damaged number of samples looks like a file that was cut: what is said tells that it may be either.
TEST(Compass, ARecordThatIsLongerThanTheFileMayBeDamaged) {
    auto bytes = small_file();
    auto const record_bytes = (bytes.size() - 2) / 20;
    auto const offset = 2 + 5 * record_bytes;
    auto const samples_at = offset + record_bytes - 30 * sizeof(std::uint16_t) - sizeof(std::uint32_t);
    ASSERT_EQ(std::to_integer<int>(bytes[samples_at]), 30);
    bytes[samples_at + 3] = std::byte{0x10};
    auto const cut = parse_compass(bytes, "run.BIN", {}).cut;
    auto const asked = record_bytes + 2 * (std::uint64_t{0x10} << 24);
    auto const said = fmt::format("at offset {}, where a record asks for at least {} bytes", offset, asked);
    EXPECT_NE(cut.find(said), std::string::npos) << cut;
    EXPECT_NE(cut.find("or this record is damaged"), std::string::npos) << cut;
}

TEST(Compass, FlippedAndForeignBytesNeverDoHarm) {
    Random random(7);
    auto const original = small_file();
    for (int i = 0; i < 5000; ++i) {
        auto bytes = original;
        for (auto flips = 1 + random.index(4); flips > 0; --flips)
            bytes[random.index(static_cast<std::uint32_t>(bytes.size()))] ^=
                static_cast<std::byte>(1u << random.index(8));
        if (i % 5 == 0)
            for (std::size_t at = 2; at < bytes.size(); ++at) bytes[at] = static_cast<std::byte>(random.index(256));
        try {
            make_replay(parse(bytes), {.loops = 2});
        } catch (base::DataError const& error) {
            EXPECT_NE(std::string(error.what()).find("offset"), std::string::npos);
        }
    }
}

TEST(Compass, SamplePeriodComesFromTheConfigurationBeside) {
    auto const folder = std::filesystem::temp_directory_path() / ("thalweg_compass_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    auto const path = (folder / "run.BIN").string();
    auto const bytes = CompassBytes(0xCAED).begin().record(0, 0, 1, 5).record(1, 0, 2, 5).bytes();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<char const*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    auto const dt_of = [&](std::size_t board, CompassOptions const& options = {}) {
        return value_at<float>(read_compass(path, options).tables[board], "waveform/dt", 0);
    };
    EXPECT_TRUE(std::isnan(dt_of(0)));
    EXPECT_EQ(dt_of(0, {.sample_period_ns = 4}), 4.0f);
    std::ofstream(folder / "settings.xml") << "<configuration><board><sampleTime>2000</sampleTime></board>"
                                              "<board><sampleTime>10000</sampleTime></board></configuration>";
    EXPECT_EQ(dt_of(0), 2.0f);
    EXPECT_EQ(dt_of(1), 10.0f);
    std::ofstream(folder / "run.xml") << "<board><sampleTime>none</sampleTime><board><sampleTime>-1";
    EXPECT_TRUE(std::isnan(dt_of(0)));
    EXPECT_TRUE(std::isnan(dt_of(1)));
    std::filesystem::remove_all(folder);
    EXPECT_THROW(read_compass(path), base::SystemError);
}

// The file was written with a DT5730.
TEST(Compass, RealFile) {
    auto const* folder = std::getenv("THALWEG_TEST_DATA");
    auto const path = std::filesystem::path(folder ? folder : THALWEG_TEST_DATA) / "compass.BIN";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there: set THALWEG_TEST_DATA to its folder";
    auto const row_sets = read_compass(path.string()).tables;
    ASSERT_EQ(row_sets.size(), 2u);
    for (auto const& rows : row_sets) {
        EXPECT_EQ(rows.rows, 51u);
        EXPECT_EQ(value_at<float>(rows, "waveform/dt", 50), 2.0f);
        auto const& values = rows.columns.back();
        ASSERT_EQ(values.size(), 51u * 1000 * 2);
        for (std::size_t i = 0; i < values.size(); i += 2) {
            auto const sample = std::to_integer<int>(values[i]) | std::to_integer<int>(values[i + 1]) << 8;
            ASSERT_TRUE(sample >= 2726 && sample <= 3528) << i;
        }
    }
    auto const source = make_replay(row_sets, {.loops = 4});
    auto const reader = source->open(1);
    std::uint64_t rows = 0;
    for (Batch batch; reader->next(batch, 0);) rows += batch.rows;
    EXPECT_EQ(rows, 4 * 51u);
}

} // namespace
} // namespace thalweg::source
