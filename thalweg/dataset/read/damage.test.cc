// Damaged RNTuple files: what is wrong is refused with place and reason; no damage gives wrong values.
#include "thalweg/dataset/test_bad_day.h"

#include <fmt/format.h>
#include <random>
#include <tuple>

#include "thalweg/dataset/read/reader.h"
#include "thalweg/format/rntuple/envelopes/envelopes.h"
#include "thalweg/format/rntuple/reading/ntuple_file.h"
#include "thalweg/format/rntuple/writing/file_parts.h"

namespace thalweg::dataset {
namespace {

using namespace testing;
using format::rntuple::rntuple_format;
using storage::Storage;

using Columns = std::tuple<std::vector<std::uint8_t>, std::vector<std::uint64_t>, std::vector<std::uint16_t>,
                           std::vector<std::uint64_t>, std::vector<std::uint16_t>>;

Columns read_all(Storage const& file) {
    auto const map = rntuple_format().load(file);
    return {column_of<std::uint8_t>(map, 0, file), column_of<std::uint64_t>(map, 1, file),
            column_of<std::uint16_t>(map, 2, file), column_of<std::uint64_t>(map, 3, file),
            column_of<std::uint16_t>(map, 4, file)};
}

std::unique_ptr<Storage> closed_file() {
    BadDay const day(rntuple_container(), {});
    EXPECT_TRUE(day.closed);
    return day.file->after_power_cut();
}

std::unique_ptr<Storage> copy_of(Storage const& file) {
    auto copy = storage::make_memory_storage(file.path());
    storage::copy_storage(file, *copy);
    return copy;
}

void flip(Storage& file, std::uint64_t offset, std::byte mask = std::byte{0x10}) {
    std::byte byte;
    file.read(offset, {&byte, 1});
    byte ^= mask;
    file.write(offset, {&byte, 1});
}

// A part of the file that has a checksum.
struct Place {
    std::string name;
    std::uint64_t offset;
    std::uint64_t bytes;
};

std::vector<Place> places_of(Storage const& file) {
    using namespace format::rntuple;
    auto const keys = read_keys(file);
    auto const key = std::find_if(keys.begin(), keys.end(), [](auto const& each) { return each.path == "events"; });
    auto const anchor = parse_anchor(read_object(file, *key), "anchor");
    EnvelopeLink const link{anchor.footer_bytes, {anchor.footer_offset, anchor.footer_stored_bytes}};
    auto const footer = parse_footer(read_envelope(file, link, "footer"), "footer");
    std::vector<Place> places{{"anchor", key->offset + key->key_bytes, kAnchorBytes},
                              {"header", anchor.header_offset, anchor.header_stored_bytes},
                              {"footer", anchor.footer_offset, anchor.footer_stored_bytes}};
    if (footer.groups.empty()) return places; // of no rows yet
    auto const& list = footer.groups.back().page_list.locator;
    places.push_back({"page list", list.offset, list.stored_bytes});
    return places;
}

bool shows_rows(Storage const& file) { return file.size() > 0 && places_of(file).size() == 4; }

// As a power cut leaves it, with an interim footer: when the first one comes depends on how fast threads get on.
std::unique_ptr<Storage> with_interim_footer() {
    while (true) {
        storage::FaultPlan plan;
        plan.power_cut_at = BadDay(rntuple_container(), {}).operations() * 3 / 4;
        auto file = BadDay(rntuple_container(), plan).file->after_power_cut();
        if (shows_rows(*file)) return file;
    }
}

std::unique_ptr<Storage> unfinished_file() {
    auto file = with_interim_footer();
    auto const footer = places_of(*file)[2];
    // No longer than what its last interim footer shows, so that damage meets something; now and then the list of keys,
    // which has a claim of its own, lies behind the footer.
    auto const cut = copy_of(*file);
    cut->resize(footer.offset + footer.bytes);
    try {
        read_all(*cut);
        file->resize(footer.offset + footer.bytes);
    } catch (base::DataError const&) {
    }
    return file;
}

TEST(Damage, EveryEnvelopeThatIsWrongAnywhereIsRefusedWithItsPlace) {
    for (auto const& file : {closed_file(), unfinished_file()}) {
        for (auto const& [name, offset, bytes] : places_of(*file)) {
            auto const place = fmt::format("run.root: the {} of RNTuple 'events' at offset {}", name, offset);
            for (std::uint64_t at = 0; at < bytes; at += std::max<std::uint64_t>(1, bytes / 97)) {
                if (name == "anchor" && (at == 4 || at == 5)) continue; // version of the class: any will do
                auto const damaged = copy_of(*file);
                flip(*damaged, offset + at, std::byte{1} << at % 8);
                auto const said = message_of([&] { read_all(*damaged); });
                EXPECT_EQ(said.substr(0, place.size()), place) << "byte " << at;
            }
        }
    }
}

TEST(Damage, AFileThatIsCutAnywhereIsRefused) {
    auto const file = closed_file();
    for (auto const& [name, offset, bytes] : places_of(*file)) {
        for (auto const end : {offset, offset + 1, offset + bytes - 1}) {
            auto const cut = copy_of(*file);
            cut->resize(end);
            auto const said = message_of([&] { read_all(*cut); });
            EXPECT_EQ(said.substr(0, 8), "run.root") << name << ": " << said;
            EXPECT_NE(said.find(fmt::format("ends at {}", end)), std::string::npos) << name << ": " << said;
        }
    }
}

TEST(Damage, TheTextThatBelongsToTheRunIsRefused) {
    auto const file = closed_file();
    auto const keys = format::rntuple::read_keys(*file);
    auto const key = std::find_if(keys.begin(), keys.end(), [](auto const& each) { return each.path == "thalweg"; });
    auto const end = key->offset + key->key_bytes + key->stored_bytes;
    ASSERT_LT(key->stored_bytes, key->object_bytes);
    for (std::uint64_t at = 1; at <= key->stored_bytes; ++at) {
        auto const damaged = copy_of(*file);
        flip(*damaged, end - at, std::byte{1});
        auto const said = message_of([&] { read_all(*damaged); });
        EXPECT_NE(said.find("the text 'thalweg' cannot be"), std::string::npos) << at << ": " << said;
    }
}

TEST(Damage, ADamagedPageIsNamedWithTableColumnItemsAndOffset) {
    auto const file = closed_file();
    Directory const directory;
    auto const map = rntuple_format().load(*file);
    for (std::size_t column = 0; column < map.head.columns[0].size(); ++column) {
        auto const& pages = map.tables[0].columns[column].pages;
        auto const& page = pages[pages.size() / 2];
        auto const path = directory.file("damaged.root");
        for (auto const at : {std::uint64_t{0}, page.stored_bytes - 1, page.stored_bytes + 7}) { // the last: checksum
            std::filesystem::remove(path);
            auto const damaged = storage::open_file_storage(path, storage::OpenMode::create_new);
            storage::copy_storage(*file, *damaged);
            flip(*damaged, page.offset + at);
            auto const reader = Reader::open(path);
            auto const& facts = map.head.columns[0][column];
            bool const is_lengths = facts.role == model::Column::Role::lengths;
            auto const items = (pages.back().first + pages.back().count) /
                               (map.tables[0].columns[column].by_value ? facts.values_per_item : 1);
            std::vector<std::byte> values(items * (is_lengths ? 8 : facts.item_bytes()));
            EXPECT_EQ(message_of([&] {
                          reader->read(0, column, {0, items}, values, {.threads = 1});
                      }),
                      fmt::format("{}: table 'events', column '{}', items {} to {} cannot be read (the page at offset "
                                  "{} is damaged (its checksum does not fit))",
                                  path, facts.path, page.first, page.first + page.count, page.offset));
        }
    }
}

// What a disk, a cable or a tired administrator does to a file.
void damage(Storage& file, std::mt19937_64& random) {
    auto const size = file.size();
    auto const somewhere = [&](std::uint64_t bytes) {
        auto const at = random() % (size - bytes);
        auto const edge = std::min<std::uint64_t>(size - bytes, 12 << 10); // where keys and envelopes are
        return random() % 2 == 0 ? at : random() % 2 == 0 ? random() % edge : size - bytes - random() % edge;
    };
    switch (random() % 8) {
    case 0:
        file.resize(random() % size);
        return;
    case 1: { // a sector that was never written
        std::array<std::byte, 512> const zeros{};
        file.write(somewhere(zeros.size()) / zeros.size() * zeros.size(), zeros);
        return;
    }
    case 2: { // or was written elsewhere
        std::array<std::byte, 512> sector;
        file.read(somewhere(sector.size()), sector);
        file.write(somewhere(sector.size()), sector);
        return;
    }
    default:
        for (auto flips = 1 + random() % 3; flips > 0; --flips) flip(file, somewhere(1), std::byte{1} << random() % 8);
    }
}

TEST(Damage, AnyDamageIsRefusedOrChangesNoValue) {
    std::mt19937_64 random(7);
    for (auto const& file : {closed_file(), unfinished_file()}) {
        auto const expected = read_all(*file);
        std::uint64_t harmless = 0, refused = 0;
        for (int i = 0; i < 1500; ++i) {
            auto const damaged = copy_of(*file);
            damage(*damaged, random);
            try {
                EXPECT_EQ(read_all(*damaged), expected) << i;
                ++harmless; // padding, streamer infos, dates
            } catch (base::DataError const&) {
                ++refused;
            }
            ASSERT_FALSE(HasFailure());
        }
        EXPECT_GT(harmless, 100u);
        EXPECT_GT(refused, 100u);
    }
}

} // namespace
} // namespace thalweg::dataset
