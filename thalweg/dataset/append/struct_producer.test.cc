// Rows as C++ structs: what is read is what was in them, in both containers.
#include <gtest/gtest.h>
#include <numeric>

#include "thalweg/base/error.h"
#include "thalweg/dataset/append/struct_producer.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/testing.h"
#include "thalweg/dataset/writer.h"

namespace thalweg::dataset {
namespace {

enum class Quality : std::uint8_t { bad, good = 7 };

struct Position {
    double x, y;
};

struct Hit {
    float energy;
    std::uint16_t channel;
    std::vector<std::int16_t> samples;
    Position position;
};

struct Event {
    std::uint64_t time;
    bool is_triggered;
    Quality quality;
    std::array<std::array<std::uint16_t, 3>, 2> grid;
    Position vertex;
    std::vector<Hit> hits;
    std::vector<std::vector<float>> nested;
    std::vector<std::array<std::int32_t, 2>> pairs;
    std::vector<std::string> words;
    std::string note;
};

auto position_type() { return struct_type<Position>().with("x", &Position::x, "mm").with("y", &Position::y, "mm"); }

auto event_type() {
    auto const hit = struct_type<Hit>()
                         .with("energy", &Hit::energy, "keV")
                         .with("channel", &Hit::channel)
                         .with("samples", &Hit::samples)
                         .with("position", &Hit::position, position_type());
    return struct_type<Event>()
        .with("time", &Event::time, "ns")
        .with("is_triggered", &Event::is_triggered)
        .with("quality", &Event::quality)
        .with("grid", &Event::grid)
        .with("vertex", &Event::vertex, position_type())
        .with("hits", &Event::hits, hit)
        .with("nested", &Event::nested)
        .with("pairs", &Event::pairs)
        .with("words", &Event::words)
        .with("note", &Event::note);
}

Event event(std::uint64_t number) {
    Event event{};
    event.time = number * 1000;
    event.is_triggered = number % 3 == 0;
    event.quality = number % 2 == 0 ? Quality::good : Quality::bad;
    for (std::size_t i = 0; i < 6; ++i) event.grid[i / 3][i % 3] = static_cast<std::uint16_t>(number + i);
    event.vertex = {static_cast<double>(number) / 2, -1.5};
    for (std::uint64_t i = 0; i < number % 4; ++i) {
        Hit hit{static_cast<float>(number + i), static_cast<std::uint16_t>(i), {}, {1, static_cast<double>(i)}};
        hit.samples.assign(number % 5, static_cast<std::int16_t>(number));
        event.hits.push_back(std::move(hit));
        event.nested.emplace_back(i, static_cast<float>(number));
        event.pairs.push_back({static_cast<std::int32_t>(number), -static_cast<std::int32_t>(i)});
        event.words.emplace_back(i, 'x');
    }
    event.note = "event " + std::to_string(number);
    return event;
}

template <class T> std::vector<T> column(Reader const& reader, std::string const& path, bool lengths = false) {
    auto const& columns = reader.head().columns[0];
    auto const role = lengths ? model::Column::Role::lengths : model::Column::Role::values;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (columns[i].path != path || columns[i].role != role) continue;
        std::uint64_t items = reader.rows(0);
        std::vector<std::size_t> outer;
        for (auto parent = columns[i].parent; parent; parent = columns[*parent].parent) outer.push_back(*parent);
        for (auto each = outer.rbegin(); each != outer.rend(); ++each)
            items = reader.elements(0, *each, {0, items}).count;
        std::vector<T> values(items * columns[i].values_per_item);
        reader.read(0, i, {0, items}, std::as_writable_bytes(std::span(values)));
        return values;
    }
    ADD_FAILURE() << "no column " << path;
    return {};
}

class Structs : public ::testing::TestWithParam<char const*> {
  protected:
    testing::Directory directory;
    std::string path = directory.file(std::string("run") + GetParam());
};

TEST_P(Structs, AreReadAsTheyWere) {
    constexpr std::uint64_t kRows = 5000;
    std::vector<Event> events;
    for (std::uint64_t i = 0; i < kRows; ++i) events.push_back(event(i));
    auto const writer = Writer::create(path, {{event_type().table("events")}}, {});
    StructProducer producer(writer->producer("events"), event_type());
    producer.append(std::span(events).first(4321));
    for (std::size_t i = 4321; i < kRows; ++i) producer.append(events[i]);
    producer.append(std::span<Event const>{});
    producer.finish();
    writer->close(10'000'000'000);

    auto const reader = Reader::open(path);
    ASSERT_EQ(reader->rows(0), kRows);
    EXPECT_EQ(reader->head().schema.tables[0].fields[0].unit, "ns");
    auto const all = [&](auto const& get) {
        using T = std::decay_t<decltype(*get(events[0]).data())>;
        std::vector<T> values;
        for (auto const& each : events) {
            auto const some = get(each);
            values.insert(values.end(), some.begin(), some.end());
        }
        return values;
    };
    EXPECT_EQ(column<std::uint64_t>(*reader, "time"), all([](Event const& e) { return std::array{e.time}; }));
    EXPECT_EQ(column<std::uint8_t>(*reader, "is_triggered"),
              all([](Event const& e) { return std::array{std::uint8_t{e.is_triggered}}; }));
    EXPECT_EQ(column<std::uint8_t>(*reader, "quality"),
              all([](Event const& e) { return std::array{static_cast<std::uint8_t>(e.quality)}; }));
    EXPECT_EQ(column<std::uint16_t>(*reader, "grid"), all([](Event const& e) {
                  std::array<std::uint16_t, 6> flat{};
                  for (std::size_t i = 0; i < 6; ++i) flat[i] = e.grid[i / 3][i % 3];
                  return flat;
              }));
    EXPECT_EQ(column<double>(*reader, "vertex/x"), all([](Event const& e) { return std::array{e.vertex.x}; }));
    EXPECT_EQ(column<float>(*reader, "hits/*/energy"), all([](Event const& e) {
                  std::vector<float> values;
                  for (auto const& hit : e.hits) values.push_back(hit.energy);
                  return values;
              }));
    EXPECT_EQ(column<double>(*reader, "hits/*/position/y"), all([](Event const& e) {
                  std::vector<double> values;
                  for (auto const& hit : e.hits) values.push_back(hit.position.y);
                  return values;
              }));
    EXPECT_EQ(column<std::int16_t>(*reader, "hits/*/samples/*"), all([](Event const& e) {
                  std::vector<std::int16_t> values;
                  for (auto const& hit : e.hits) values.insert(values.end(), hit.samples.begin(), hit.samples.end());
                  return values;
              }));
    EXPECT_EQ(column<float>(*reader, "nested/*/*"), all([](Event const& e) {
                  std::vector<float> values;
                  for (auto const& list : e.nested) values.insert(values.end(), list.begin(), list.end());
                  return values;
              }));
    EXPECT_EQ(column<std::int32_t>(*reader, "pairs/*"), all([](Event const& e) {
                  std::vector<std::int32_t> values;
                  for (auto const& pair : e.pairs) values.insert(values.end(), pair.begin(), pair.end());
                  return values;
              }));
    EXPECT_EQ(column<std::uint64_t>(*reader, "words/*", true), all([](Event const& e) {
                  std::vector<std::uint64_t> values;
                  for (auto const& word : e.words) values.push_back(word.size());
                  return values;
              }));
    EXPECT_EQ(column<char>(*reader, "note/*"), all([](Event const& e) { return e.note; }));
}

TEST_P(Structs, FieldsOfTheTableMayHaveAnotherOrder) {
    auto const forwards = struct_type<Position>().with("x", &Position::x).with("y", &Position::y);
    auto const backwards = struct_type<Position>().with("y", &Position::y).with("x", &Position::x);
    auto const writer = Writer::create(path, {{forwards.table("p")}}, {});
    StructProducer producer(writer->producer("p"), backwards);
    producer.append(Position{1, 2});
    producer.finish();
    writer->close(10'000'000'000);
    auto const reader = Reader::open(path);
    EXPECT_EQ(column<double>(*reader, "x"), std::vector{1.0});
    EXPECT_EQ(column<double>(*reader, "y"), std::vector{2.0});
}

INSTANTIATE_TEST_SUITE_P(All, Structs, ::testing::Values(".h5", ".root"));

std::string refusal_of(auto const& type, model::Table const& table) {
    testing::Directory const directory;
    auto const writer = Writer::create(directory.file("run.h5"), {{table}}, {});
    try {
        StructProducer producer(writer->producer(table.name), type);
    } catch (base::UsageError const& error) {
        return error.what();
    }
    return "";
}

TEST(StructProducer, StructsThatAreNotThoseOfTheTableAreRefused) {
    auto const x = struct_type<Position>().with("x", &Position::x);
    auto const both = x.with("y", &Position::y);
    auto const said = [](std::string const& text, std::string const& what) {
        EXPECT_NE(text.find(what), std::string::npos) << text;
    };
    said(refusal_of(x, both.table("p")), "table 'p' does not take these structs (column 'y': the struct has none)");
    said(refusal_of(both, x.table("p")), "column 'y': the table has none");
    auto table = both.table("p");
    table.fields[1].scalar = model::Scalar::float32;
    said(refusal_of(both, table), "column 'y': it is float64 in the struct, and float32 in the table");
    table = both.table("p");
    table.fields[0].shape = {3};
    said(refusal_of(both, table), "column 'x': it is float64 in the struct, and float64[3] in the table");
    auto const in_mm = struct_type<Position>().with("x", &Position::x, "mm").with("y", &Position::y);
    table = both.table("p");
    table.fields[0].unit = "m";
    said(refusal_of(in_mm, table), "column 'x': it is in mm in the struct, and in m in the table");
    EXPECT_EQ(refusal_of(both, table), "") << "the struct says none";
    EXPECT_EQ(refusal_of(in_mm, both.table("p")), "") << "the table says none";
    EXPECT_EQ(refusal_of(both, both.table("p")), "");
}

} // namespace
} // namespace thalweg::dataset
