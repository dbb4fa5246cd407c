#include "thalweg/dataset/run_reader.h"

#include <array>
#include <gtest/gtest.h>
#include <numeric>

#include "thalweg/dataset/append/struct_producer.h"
#include "thalweg/dataset/testing.h"
#include "thalweg/dataset/writer.h"

namespace thalweg::dataset {
namespace {

using testing::message_of;

constexpr std::uint64_t kCloseNs = 10'000'000'000;

enum class Kind : std::uint8_t { noise, signal };

struct Hit {
    float energy = 0;
    std::vector<std::uint16_t> samples;

    bool operator==(Hit const&) const = default;
};

struct Event {
    std::uint64_t number = 0;
    Kind kind = Kind::noise;
    bool is_good = false;
    std::array<std::int16_t, 3> position = {};
    std::vector<Hit> hits;
    std::string note;

    bool operator==(Event const&) const = default;
};

auto event_type() {
    auto const hit = struct_type<Hit>().with("energy", &Hit::energy, "keV").with("samples", &Hit::samples);
    return struct_type<Event>()
        .with("number", &Event::number)
        .with("kind", &Event::kind)
        .with("is_good", &Event::is_good)
        .with("position", &Event::position)
        .with("hits", &Event::hits, hit)
        .with("note", &Event::note);
}

Event event(std::uint64_t number) {
    Event made{number, number % 2 ? Kind::signal : Kind::noise, number % 3 == 0, {}, {}, std::string(number % 5, 'x')};
    made.position = {static_cast<std::int16_t>(number), 1, -1};
    for (std::uint64_t i = 0; i < number % 4; ++i)
        made.hits.push_back({static_cast<float>(number) / 2, std::vector<std::uint16_t>(i, 7)});
    return made;
}

class RunReaderTest : public ::testing::TestWithParam<char const*> {
  protected:
    void SetUp() override {
        auto const run = Writer::create(path_, {{event_type().table("events")}}, {});
        StructProducer producer(run->producer("events"), event_type());
        for (std::uint64_t i = 0; i < 3000; ++i) written_.push_back(event(i));
        producer.append(written_);
        producer.finish();
        run->close(kCloseNs);
    }

    testing::Directory directory_;
    std::string path_ = directory_.file(std::string("run") + GetParam());
    std::vector<Event> written_;
};

TEST_P(RunReaderTest, GivesBackTheStructsThatWereWritten) {
    RunReader const run(path_);
    auto const events = run.table("events");
    EXPECT_EQ(run.tables(), std::vector<std::string>{"events"});
    EXPECT_EQ(events.rows(), written_.size());
    EXPECT_EQ(events.read(event_type()), written_);
    EXPECT_EQ(events.read(event_type(), {1000, 17}),
              std::vector<Event>(written_.begin() + 1000, written_.begin() + 1017));
    EXPECT_TRUE(events.read(event_type(), {3000, 0}).empty());
}

// Structs of C have such members; other programs see the same column.
TEST_P(RunReaderTest, TakesArraysOfCAsStdArrays) {
    struct Pulse {
        std::int16_t position[3];
        double grid[2][2];
    };
    auto const type = struct_type<Pulse>().with("position", &Pulse::position).with("grid", &Pulse::grid, "mm");
    auto const path = directory_.file(std::string("pulses") + GetParam());
    auto const run = Writer::create(path, {{type.table("pulses")}}, {});
    StructProducer producer(run->producer("pulses"), type);
    producer.append(std::vector<Pulse>{{{1, 2, 3}, {{1, 2}, {3, 4}}}, {{4, 5, 6}, {{5, 6}, {7, 8}}}});
    producer.finish();
    run->close(kCloseNs);

    auto const pulses = RunReader(path).table("pulses");
    EXPECT_EQ(pulses.schema().fields[1].shape, (std::vector<std::uint64_t>{2, 2}));
    EXPECT_EQ((pulses.column<std::array<std::int16_t, 3>>("position")),
              (std::vector<std::array<std::int16_t, 3>>{{1, 2, 3}, {4, 5, 6}}));
    auto const read = pulses.read(type);
    EXPECT_EQ(read[1].position[2], 6);
    EXPECT_EQ(read[1].grid[1][0], 7);
}

TEST_P(RunReaderTest, ReadsSomeMembersOfATableIntoAStruct) {
    auto const some = struct_type<Event>().with("note", &Event::note).with("number", &Event::number);
    auto const rows = RunReader(path_).table("events").read(some, {2, 2});
    EXPECT_EQ(rows[1].number, 3u);
    EXPECT_EQ(rows[1].note, "xxx");
}

TEST_P(RunReaderTest, ReadsColumns) {
    auto const events = RunReader(path_).table("events");
    auto const numbers = events.column<std::uint64_t>("number");
    EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0}), 2999u * 3000 / 2);
    EXPECT_EQ((events.column<std::array<std::int16_t, 3>>("position", {5, 1})),
              (std::vector<std::array<std::int16_t, 3>>{{5, 1, -1}}));
    EXPECT_EQ(events.column<std::string>("note", {4, 2}), (std::vector<std::string>{"xxxx", ""}));
    EXPECT_EQ(events.column<Kind>("kind", {1, 1}).front(), Kind::signal);
    auto const good = events.column<std::uint8_t>("is_good");
    for (std::size_t row = 0; row < good.size(); ++row) ASSERT_EQ(good[row], written_[row].is_good ? 1 : 0) << row;
}

TEST_P(RunReaderTest, RefusesWhatDoesNotFit) {
    auto const events = RunReader(path_).table("events");
    auto const wrong = message_of([&] { events.column<double>("number"); });
    EXPECT_NE(wrong.find("column 'number' of table 'events' cannot be read as float64 (it is uint64)"),
              std::string::npos)
        << wrong;
    auto const unknown = message_of([&] { events.column<float>("numbr"); });
    EXPECT_NE(unknown.find("did you mean 'number'?"), std::string::npos) << unknown;
    auto const inside = message_of([&] { events.column<float>("hits/energy"); });
    EXPECT_NE(inside.find("'hits' is list of struct"), std::string::npos) << inside;
    auto const member = message_of([&] {
        struct Other {
            std::vector<float> hits;
        };
        events.read(struct_type<Other>().with("hits", &Other::hits));
    });
    EXPECT_NE(member.find("as float32 (it is struct)"), std::string::npos) << member;
    auto const rows = message_of([&] { events.read(event_type(), {2999, 2}); });
    EXPECT_NE(rows.find("it has 3000 rows"), std::string::npos) << rows;
    auto const table = message_of([&] { RunReader(path_).table("evnts"); });
    EXPECT_EQ(table, path_ + ": there is no table 'evnts': the tables are events");
}

struct Gain {
    float low = 0;
};
struct Channel {
    Gain gain;
};

TEST(RunReader, NamesTheFieldOfAStruct) {
    testing::Directory const directory;
    auto const path = directory.file("run.h5");
    auto const type = struct_type<Channel>().with("gain", &Channel::gain, struct_type<Gain>().with("low", &Gain::low));
    Writer::create(path, {{type.table("channels")}}, {})->close(kCloseNs);
    auto const channels = RunReader(path).table("channels");
    EXPECT_EQ(channels.column<float>("gain/low").size(), 0u);
    auto const dotted = message_of([&] { channels.column<float>("gain.low"); });
    EXPECT_NE(dotted.find("did you mean 'gain/low'?"), std::string::npos) << dotted;
    auto const whole = message_of([&] { channels.column<float>("gain"); });
    EXPECT_NE(whole.find("it is struct): name a field of it, such as gain/low"), std::string::npos) << whole;
}

TEST_P(RunReaderTest, RefusesAnotherUnitAtAnyDepth) {
    auto const events = RunReader(path_).table("events");
    struct Energy {
        float energy;
    };
    struct Energies {
        std::vector<Energy> hits;
    };
    auto const in = [](std::string const& unit) {
        auto const hit = struct_type<Energy>().with("energy", &Energy::energy, unit);
        return struct_type<Energies>().with("hits", &Energies::hits, hit);
    };
    auto const wrong = message_of([&] { events.read(in("MeV")); });
    EXPECT_NE(wrong.find("column 'hits/*/energy' of table 'events' cannot be read in MeV (its values are in keV)"),
              std::string::npos)
        << wrong;
    EXPECT_EQ(events.read(in("keV")).size(), 3000u);
    EXPECT_EQ(events.read(in("")).size(), 3000u) << "what says no unit takes any";
    auto const stored_without = struct_type<Event>().with("number", &Event::number, "s");
    EXPECT_EQ(events.read(stored_without).size(), 3000u) << "the table says none";
}

INSTANTIATE_TEST_SUITE_P(Containers, RunReaderTest, ::testing::Values(".h5", ".root"));

} // namespace
} // namespace thalweg::dataset
