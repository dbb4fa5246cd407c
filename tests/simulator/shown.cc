#include "tests/simulator/shown.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/run/format_for.h"
#include "thalweg/format/hdf5/ours/header.h"

namespace thalweg::simulator {
namespace {

// Returns whether it opens, and is not complete. A write of a sector may be torn here, and the checksum of the
// superblock says so then: if the sector is whole, the metadata are.
bool opens_as_open(std::string const& path, Blame const& blame) {
    auto const file = storage::open_file_storage(path, storage::OpenMode::read_only);
    try {
        return !dataset::format_for(path).load(*file).closed;
    } catch (base::Error const& error) {
        if (path.ends_with(".h5") && format::hdf5::ours::has_whole_interim_sector(*file))
            blame(fmt::format("what it shows other programs cannot be read: {}", error.what()));
        return false;
    }
}

} // namespace

std::optional<Found> shown_to_others(World& world, std::string const& path, Blame const& blame) {
    if (!dataset::exists(path) || !opens_as_open(path, blame)) return std::nullopt;
    auto const name = path.rfind('/') + 1;
    auto const copy = path.substr(0, name) + "shown-" + path.substr(name);
    auto const inode = world.disk.next_inode++; // no change of names that a power cut could undo
    world.disk.files[inode].cache = world.disk.files.at(*world.disk.find(path)).cache;
    world.disk.names[copy] = inode;
    std::optional<Found> found;
    try {
        auto const reader = dataset::Reader::open(copy);
        World::Undivided const undivided(world);
        found = read_all(*reader, [&](std::string const& text) { blame("as other programs see it: " + text); });
    } catch (base::Error const& error) {
        blame(fmt::format("what it shows other programs cannot be read: {}", error.what()));
    }
    world.disk.names.erase(copy);
    world.disk.files.erase(inode);
    if (!found || std::ranges::all_of(found->tables, [](auto const& rows) { return rows.empty(); }))
        return std::nullopt;
    return found;
}

void check_nothing_goes(Found const& shown, Found const& recovered, Blame const& blame) {
    for (std::size_t table = 0; table < shown.tables.size(); ++table) {
        for (auto const& [who, rows] : shown.tables[table]) {
            auto const there = recovered.tables[table].find(who);
            if (there != recovered.tables[table].end() && std::ranges::includes(there->second, rows)) continue;
            blame(fmt::format(
                "table {}, producer {}: other programs saw {} rows, and some of them are not there any more", table,
                who, rows.size()));
        }
    }
    if (!std::ranges::includes(recovered.units, shown.units))
        blame("other programs saw a work unit that does not count any more");
}

} // namespace thalweg::simulator
