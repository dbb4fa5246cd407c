#include "tests/simulator/disk.h"

#include <algorithm>
#include <utility>

namespace thalweg::simulator {
namespace {

constexpr std::uint64_t kSectorBytes = 512; // a disk writes such a unit completely or not at all

void apply(Image& image, Change const& change) {
    if (change.bytes)
        image.write(change.offset_or_size, *change.bytes);
    else
        image.resize(change.offset_or_size);
}

void apply_some_sectors(Image& image, Change const& change, double share, Random& random) {
    auto const bytes = std::span(*change.bytes);
    for (std::uint64_t done = 0; done < bytes.size();) {
        auto const offset = change.offset_or_size + done;
        auto const count = std::min(kSectorBytes - offset % kSectorBytes, bytes.size() - done);
        if (random.chance(share)) image.write(offset, bytes.subspan(done, count));
        done += count;
    }
}

void apply_name(std::map<std::string, std::uint64_t>& names, NameChange const& change) {
    if (change.inode == 0)
        names.erase(change.path);
    else
        names[change.path] = change.inode;
}

// A file is lost together with its directory.
void drop_without_directory(DiskState& state, DiskState const& before) {
    for (bool more = true; std::exchange(more, false);) {
        auto const is_lost = [&](auto const& each) {
            auto const directory = directory_of(each.first);
            auto const was = before.names.find(directory); // the directory that always exists has no name
            return was != before.names.end() && !state.durable_names.contains(directory);
        };
        more = std::erase_if(state.durable_names, is_lost) > 0;
    }
}

void apply_names(DiskState& state, DiskState const& before, Survival const& survival, Random& random) {
    bool more = true;
    for (auto const& change : before.name_changes) {
        bool const survives = random.chance(survival.share);
        if (!survival.names_any) more = more && survives;
        if (survival.names_any ? !survives : !more) continue;
        apply_name(state.durable_names, change);
    }
    drop_without_directory(state, before);
    state.names = state.durable_names;
}

// Returns what a machine leaves of a change, which then belongs to no machine. Empty: nothing.
std::vector<Change> remains(Change const& change, Survival const& survival, Random& random) {
    if (!change.bytes || !survival.sectors) {
        if (!random.chance(survival.share)) return {};
        auto whole = change;
        whole.machine = kNoMachine;
        return {whole};
    }
    std::vector<Change> sectors;
    auto const bytes = std::span(*change.bytes);
    for (std::uint64_t done = 0; done < bytes.size();) {
        auto const offset = change.offset_or_size + done;
        auto const count = std::min(kSectorBytes - offset % kSectorBytes, bytes.size() - done);
        auto const sector = bytes.subspan(done, count);
        done += count;
        if (!random.chance(survival.share)) continue;
        sectors.push_back({change.write, offset,
                           std::make_shared<std::vector<std::byte> const>(sector.begin(), sector.end()), change.ended,
                           kNoMachine});
    }
    return sectors;
}

// The content that all machines then see follows from what is durable, and from the changes of the others.
void lose_changes(File& file, std::uint32_t machine, Survival const& survival, Random& random, std::uint64_t moment) {
    auto const is_lost = [&](Change const& change) { return change.machine == machine && !change.durable; };
    if (std::ranges::none_of(file.changes, is_lost)) return;
    std::vector<Change> left;
    for (auto const& change : file.changes) {
        if (!is_lost(change)) {
            left.push_back(change);
            continue;
        }
        for (auto& remain : remains(change, survival, random)) {
            remain.ended = std::min(remain.ended, moment);
            left.push_back(std::move(remain));
        }
    }
    file.changes = std::move(left);
    file.cache = file.durable;
    for (auto const& change : file.changes) apply(file.cache, change);
}

} // namespace

std::string directory_of(std::string const& path) { return path.substr(0, path.rfind('/')); }

std::uint64_t* DiskState::find(std::string const& path) {
    auto const found = names.find(path);
    return found == names.end() ? nullptr : &found->second;
}

std::uint64_t DiskState::links(std::uint64_t inode) const {
    return static_cast<std::uint64_t>(
        std::count_if(names.begin(), names.end(), [&](auto const& each) { return each.second == inode; }));
}

std::uint64_t DiskState::used_bytes() const {
    std::uint64_t bytes = 0;
    for (auto const& [inode, file] : files) bytes += file.cache.size();
    return bytes;
}

std::uint64_t DiskState::create(std::string const& path) {
    files[next_inode];
    set_name(path, next_inode);
    return next_inode++;
}

void DiskState::set_name(std::string const& path, std::uint64_t inode) {
    // A machine that makes this one durable does the same with earlier ones of the same name.
    for (auto& change : name_changes) {
        if (change.path == path && change.machine != machine) {
            change.machine = machine;
            change.is_seen = true;
        }
    }
    name_changes.push_back({path, inode, machine, names_outlive_machines});
    apply_name(names, name_changes.back());
}

void DiskState::write(std::uint64_t inode, std::uint64_t offset, std::span<std::byte const> bytes) {
    auto& file = files.at(inode);
    file.cache.write(offset, bytes);
    file.changes.push_back(
        {0, offset, std::make_shared<std::vector<std::byte> const>(bytes.begin(), bytes.end()), moment++, machine});
}

void DiskState::resize(std::uint64_t inode, std::uint64_t size_bytes) {
    auto& file = files.at(inode);
    file.cache.resize(size_bytes);
    file.changes.push_back({0, size_bytes, nullptr, moment++, machine});
}

void DiskState::land(std::uint64_t now_ns) {
    std::erase_if(flights, [&](Flight const& flight) {
        if (flight.lands_ns > now_ns) return false;
        if (flight.error != 0) return true;
        auto& file = files.at(flight.inode);
        file.cache.write(flight.offset, *flight.bytes);
        file.changes.push_back(
            {flight.write, flight.offset, flight.bytes, flight.orphaned ? moment++ : kNever, flight.machine});
        return true;
    });
}

void DiskState::end_write(std::uint64_t inode, std::uint64_t write) {
    for (auto& change : files.at(inode).changes) {
        if (change.write == write) change.ended = moment++;
    }
}

void DiskState::end_sync(std::uint64_t inode, std::uint64_t begin_moment, bool lost) {
    auto& file = files.at(inode);
    auto const is_covered = [&](Change const& change) {
        return change.ended < begin_moment && (change.machine == machine || change.machine == kNoMachine);
    };
    if (lost) {
        std::erase_if(file.changes, [&](Change const& change) { return !change.durable && is_covered(change); });
        return;
    }
    for (auto& change : file.changes) change.durable = change.durable || is_covered(change);
    // Changes stay in their order: a durable one stays on the list while one in front of it is not durable.
    auto const first = std::ranges::find(file.changes, false, &Change::durable);
    for (auto change = file.changes.begin(); change != first; ++change) apply(file.durable, *change);
    file.changes.erase(file.changes.begin(), first);
}

void DiskState::see(std::string const& path) {
    for (auto& change : name_changes) {
        if (change.path == path && change.machine != machine) change.is_seen = true;
    }
}

void DiskState::see_all_in(std::string const& directory) {
    for (auto& change : name_changes) {
        if (change.machine != machine && directory_of(change.path) == directory) change.is_seen = true;
    }
}

void DiskState::sync_names(std::size_t changes, std::string const& directory) {
    changes = std::min(changes, name_changes.size()); // another sync may have been faster
    std::size_t index = 0;
    std::erase_if(name_changes, [&](NameChange const& change) {
        bool const is_ours = change.machine == machine || change.machine == kNoMachine;
        if (index++ >= changes || !is_ours || directory_of(change.path) != directory) return false;
        apply_name(durable_names, change);
        return true;
    });
}

void lose_machine(DiskState& disk, std::uint32_t machine, Survival const& survival, Random& random) {
    std::erase_if(disk.flights, [&](Flight& flight) {
        if (flight.machine != machine) return false;
        if (flight.error == 0) // it may have been on its way to the disk
            disk.files.at(flight.inode).changes.push_back({flight.write, flight.offset, flight.bytes, kNever, machine});
        return true;
    });
    for (auto& [inode, file] : disk.files) lose_changes(file, machine, survival, random, disk.moment);
    // Names that another machine has seen are on the disk already, and so is everything that came before them.
    std::vector<NameChange> left;
    auto names = disk.durable_names;
    bool more = true;
    for (auto change : disk.name_changes) {
        if (change.machine == machine && !change.is_seen) {
            bool const survives = random.chance(survival.share);
            if (!survival.names_any) more = more && survives;
            if (survival.names_any ? !survives : !more) continue;
        }
        if (change.machine == machine) change.machine = kNoMachine;
        apply_name(names, change);
        left.push_back(std::move(change));
    }
    disk.name_changes = std::move(left);
    disk.names = std::move(names);
    ++disk.moment;
}

Survival draw_survival(Random& random) {
    Survival survival;
    survival.share = random.one_of({0.0, 0.1, 0.5, 0.9, 1.0});
    survival.sectors = random.chance(0.5);
    survival.names_any = random.chance(0.3);
    return survival;
}

DiskState after_power_cut(DiskState const& before, Survival const& survival, Random& random) {
    DiskState state;
    state.next_inode = before.next_inode;
    state.moment = before.moment;
    state.names_outlive_machines = before.names_outlive_machines;
    state.durable_names = before.durable_names;
    apply_names(state, before, survival, random);
    for (auto const& [path, inode] : state.names) {
        if (state.files.contains(inode)) continue;
        auto const& file = before.files.at(inode);
        Image image = file.durable;
        auto survive = [&](Change const& change) {
            if (change.durable)
                apply(image, change);
            else if (change.bytes && survival.sectors)
                apply_some_sectors(image, change, survival.share, random);
            else if (random.chance(survival.share))
                apply(image, change);
        };
        for (auto const& change : file.changes) survive(change);
        for (auto const& flight : before.flights) {
            if (flight.inode == inode) survive({flight.write, flight.offset, flight.bytes});
        }
        state.files[inode] = {image, image, {}, file.is_directory, file.label};
    }
    return state;
}

DiskState after_death(DiskState const& before, std::uint64_t now_ns, Random& random) {
    DiskState state = before;
    for (auto& [inode, file] : state.files) {
        for (auto& change : file.changes) change.ended = std::min(change.ended, state.moment);
    }
    for (auto& flight : state.flights) {
        flight.orphaned = true;
        flight.lands_ns = now_ns + random.any_size(3'000'000);
        if (random.chance(0.2)) flight.error = 1;
    }
    ++state.moment;
    return state;
}

} // namespace thalweg::simulator
