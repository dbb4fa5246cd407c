#include "tests/simulator/disk.h"

#include <algorithm>

namespace thalweg::simulator {
namespace {

constexpr std::uint64_t kSectorBytes = 512; // what a disk writes whole or not at all

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

void apply_names(DiskState& state, DiskState const& before, Survival const& survival, Random& random) {
    bool more = true;
    for (auto const& change : before.name_changes) {
        bool const survives = random.chance(survival.share);
        if (!survival.names_any) more = more && survives;
        if (survival.names_any ? !survives : !more) continue;
        apply_name(state.durable_names, change);
    }
    state.names = state.durable_names;
}

} // namespace

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
    name_changes.push_back({path, inode});
    apply_name(names, name_changes.back());
}

void DiskState::write(std::uint64_t inode, std::uint64_t offset, std::span<std::byte const> bytes) {
    auto& file = files.at(inode);
    file.cache.write(offset, bytes);
    file.changes.push_back(
        {0, offset, std::make_shared<std::vector<std::byte> const>(bytes.begin(), bytes.end()), moment++});
}

void DiskState::resize(std::uint64_t inode, std::uint64_t size_bytes) {
    auto& file = files.at(inode);
    file.cache.resize(size_bytes);
    file.changes.push_back({0, size_bytes, nullptr, moment++});
}

void DiskState::land(std::uint64_t now_ns) {
    std::erase_if(flights, [&](Flight const& flight) {
        if (flight.lands_ns > now_ns) return false;
        if (flight.error != 0) return true;
        auto& file = files.at(flight.inode);
        file.cache.write(flight.offset, *flight.bytes);
        file.changes.push_back({flight.write, flight.offset, flight.bytes, flight.orphaned ? moment++ : kNever});
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
    std::erase_if(file.changes, [&](Change const& change) {
        if (change.ended >= begin_moment) return false;
        if (!lost) apply(file.durable, change);
        return true;
    });
}

void DiskState::sync_names(std::size_t changes) {
    changes = std::min(changes, name_changes.size()); // another sync may have been faster
    for (auto const& change : std::span(name_changes).first(changes)) apply_name(durable_names, change);
    name_changes.erase(name_changes.begin(), name_changes.begin() + static_cast<std::ptrdiff_t>(changes));
}

DiskState after_power_cut(DiskState const& before, Survival const& survival, Random& random) {
    DiskState state;
    state.next_inode = before.next_inode;
    state.moment = before.moment;
    state.durable_names = before.durable_names;
    apply_names(state, before, survival, random);
    for (auto const& [path, inode] : state.names) {
        if (state.files.contains(inode)) continue;
        auto const& file = before.files.at(inode);
        Image image = file.durable;
        auto survive = [&](Change const& change) {
            if (change.bytes && survival.sectors)
                apply_some_sectors(image, change, survival.share, random);
            else if (random.chance(survival.share))
                apply(image, change);
        };
        for (auto const& change : file.changes) survive(change);
        for (auto const& flight : before.flights) {
            if (flight.inode == inode) survive({flight.write, flight.offset, flight.bytes});
        }
        state.files[inode] = {image, image, {}};
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
