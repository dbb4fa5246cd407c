#include "tests/simulator/copies.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/read/reader.h"

namespace thalweg::simulator {
namespace {

constexpr char const* kCopy = "copy-"; // in front of a name

void copy_file(DiskState& disk, std::string const& to, DiskState const& from, std::uint64_t inode) {
    auto& file = disk.files[disk.create(to)];
    file.cache = from.files.at(inode).cache;
    file.durable = file.cache;
}

// Returns the journal and its segments.
std::map<std::string, std::uint64_t> journals_of(DiskState const& disk, std::string const& path) {
    std::map<std::string, std::uint64_t> found;
    for (auto const& [name, inode] : disk.names) {
        if (name.starts_with(path + ".journal")) found[name] = inode;
    }
    return found;
}

// Returns what a copy may lack and may have if its two files have any age between the two.
Promises of_any_age(Promises const& older, Promises const& newer, bool has_all_that_is_durable) {
    auto expected = newer;
    expected.closed = false;
    for (auto& [who, promise] : expected.producers) {
        auto const before = older.producers.find(who);
        bool const was_durable = has_all_that_is_durable && before != older.producers.end();
        promise.durable = was_durable ? before->second.durable : 0;
        promise.has_gaps = true;
    }
    for (auto& [who, unit] : expected.units) {
        auto const before = older.units.find(who);
        unit.durable = has_all_that_is_durable && before != older.units.end() && before->second.durable;
    }
    return expected;
}

// Returns whether something is missing that existed when the journal was copied.
bool lacks_rows(Promises const& of_journal, Found const& found) {
    auto const count = [&](std::uint64_t table, std::uint64_t who) {
        auto const rows = found.tables.at(table).find(who);
        return rows == found.tables[table].end() ? 0 : rows->second.size();
    };
    for (auto const& [who, promise] : of_journal.producers) {
        if (count(promise.table, who) < promise.taken) return true;
    }
    for (auto const& [who, unit] : of_journal.units) {
        if (unit.state != UnitPromise::State::committed) continue;
        for (auto const& [table, rows] : unit.rows) {
            if (count(table, who) < rows) return true;
        }
    }
    return false;
}

// Returns whether a copy of a young run may be refused: the beginning of its file may be missing, and then nothing
// shows which run it belongs to.
bool may_be_refused(Promises const& expected) {
    auto const is_durable = [](auto const& each) { return each.second.durable != 0; };
    return !expected.closed && std::ranges::none_of(expected.producers, is_durable) &&
           std::ranges::none_of(expected.units, is_durable);
}

bool says_that_it_lacks(dataset::RunReport const& report) {
    bool says = report.rows_may_be_missing || report.units_lost > 0 || report.damaged_pages > 0;
    for (auto const& table : report.tables) says = says || table.lost_rows > 0;
    return says;
}

void check_copy(World& world, std::string const& path, Promises const& expected, Promises const& of_journal,
                Blame const& blame) {
    dataset::RunReport report;
    try {
        report = dataset::recover(path).report;
    } catch (base::Error const& error) {
        bool const is_of_disk = dynamic_cast<base::SystemError const*>(&error) != nullptr;
        if (!may_be_refused(expected) && !(is_of_disk && world.disk_may_have_failed()))
            blame(fmt::format("it cannot be recovered: {}", error.what()));
        return;
    }
    try {
        auto const reader = dataset::Reader::open(path);
        World::Undivided const undivided(world);
        auto const found = read_all(*reader, blame);
        check_promises(expected, found, expected.closed ? Crash::processes : Crash::power, blame);
        if (lacks_rows(of_journal, found) && !says_that_it_lacks(report)) blame("it lacks rows, and nothing says so");
    } catch (base::Error const& error) {
        blame(fmt::format("what was recovered cannot be read: {}", error.what()));
    }
}

// Checks that the recovery of the copy changed nothing that the owner had left.
void check_untouched(Snapshot const& before, Snapshot const& after, std::string const& copy,
                     std::vector<std::string>& faults) {
    if (before.memory != after.memory)
        faults.push_back("the recovery of a copy has touched the memory of the original");
    for (auto const& [name, inode] : before.disk.names) {
        if (name.starts_with(copy)) continue;
        auto const there = after.disk.names.find(name);
        bool const is_there = there != after.disk.names.end() && there->second == inode;
        // Writes that were given to the kernel still land.
        bool const lands = !before.disk.flights.empty();
        if (!is_there || (!lands && !before.disk.files.at(inode).cache.same_bytes(after.disk.files.at(inode).cache)))
            faults.push_back("the recovery of a copy has touched the original's " + name);
    }
}

// Returns another snapshot of the same life, so that rows dropped in between are not promised to be missing.
Snapshot const* another(std::span<Snapshot const> snapshots, std::size_t index, Random& random) {
    auto const chosen = random.below(index + 1);
    auto const& snapshot = snapshots[chosen];
    return snapshot.life == snapshots[index].life && snapshot.promises.created && chosen != index ? &snapshot : nullptr;
}

} // namespace

std::uint64_t recover_a_copy_of_open_run(World& world, std::string const& path, Promises const& promises,
                                         Random& random) {
    auto const is_open = [&] {
        bool const has_failed = world.syncs > world.weather.fail_sync;
        return promises.created && !promises.close_begun && promises.files.size() == 1 && !has_failed;
    };
    base::sleep_ns(random.any_size(60'000'000));
    if (!is_open()) return 0;
    auto const first = promises;
    auto const first_disk = world.disk;
    if (random.chance(0.7)) base::sleep_ns(random.any_size(20'000'000));
    if (!is_open()) return 0;
    auto const second = promises;
    auto const second_disk = world.disk;
    bool const data_is_older = random.chance(0.5);
    if (!add_copy(world.disk, path, data_is_older ? first_disk : second_disk, data_is_older ? second_disk : first_disk))
        return 0;
    auto const blame = [&](std::string const& text) {
        world.blame(
            fmt::format("a copy of the open run, whose {} older: {}", data_is_older ? "data are" : "journal is", text));
    };
    world.allow_only(copy_of(path));
    check_copy(world, copy_of(path), of_any_age(first, second, !data_is_older), data_is_older ? second : first, blame);
    return 1;
}

std::string copy_of(std::string const& path) {
    auto const name = path.rfind('/') + 1;
    return path.substr(0, name) + kCopy + path.substr(name);
}

bool add_copy(DiskState& disk, std::string const& path, DiskState const& data, DiskState const& journal) {
    auto const file = data.names.find(path);
    auto const journals = journals_of(journal, path);
    if (file == data.names.end() || !journals.contains(path + ".journal")) return false;
    auto const names = disk.names;
    for (auto const& [name, inode] : names) { // of an earlier copy
        if (name.starts_with(copy_of(path))) disk.set_name(name, 0);
    }
    copy_file(disk, copy_of(path), data, file->second);
    for (auto const& [name, inode] : journals) copy_file(disk, copy_of(name), journal, inode);
    return true;
}

bool judge_a_copy(Workshop& workshop, std::string const& path, std::span<Snapshot const> snapshots, std::size_t index,
                  Snapshot& state, Crash crash, Random& random, std::vector<std::string>& faults) {
    auto const& promises = snapshots[index].promises;
    if (!promises.created || promises.sync_failed) return false;
    auto const* const older = crash == Crash::processes ? another(snapshots, index, random) : nullptr;
    bool const data_is_older = older != nullptr && random.chance(0.5);
    bool const journal_is_older = older != nullptr && !data_is_older;
    auto with_copy = state;
    if (!add_copy(with_copy.disk, path, data_is_older ? older->disk : state.disk,
                  journal_is_older ? older->disk : state.disk))
        return false;
    auto const& of_journal = journal_is_older ? older->promises : promises;
    auto expected = of_any_age(older != nullptr ? older->promises : promises, promises, !data_is_older);
    expected.closed = promises.closed && !data_is_older;
    auto const name =
        fmt::format("a copy {}, whose {}: ", crash == Crash::power ? "after a power cut" : "of dead files",
                    data_is_older      ? "data are older"
                    : journal_is_older ? "journal is older"
                                       : "files are of one age");
    Weather weather;
    weather.steps_per_turn = 500;
    World world(workshop, random.word(), weather, with_copy.disk, state.memory, state.now_ns, state.boot);
    auto const memory = world.names.state();
    auto const blame = [&](std::string const& text) { world.blame(name + text); };
    world.start_process([&] { check_copy(world, copy_of(path), expected, of_journal, blame); });
    world.run([] { return false; });
    faults.insert(faults.end(), world.faults().begin(), world.faults().end());
    auto before = state;
    before.memory = memory;
    state.disk = world.disk;
    state.memory = world.names.state();
    state.now_ns = world.now_ns();
    check_untouched(before, state, copy_of(path), faults);
    return true;
}

} // namespace thalweg::simulator
