#include "tests/simulator/owner.h"

#include <algorithm>
#include <fmt/format.h>

#include "tests/simulator/series.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/run/run_place.h"

namespace thalweg::simulator {
void Owner::own(std::unique_ptr<dataset::Writer> writer, std::function<bool()> const& others) {
    files_.push_back({std::move(writer), promises_.files.size() - 1});
    handle_ = files_.back().writer->handle();
    next_rotation_ = world_.turns() + random_.any_size(2 * scenario_.turns_to_rotate);
    while (others()) {
        ask();
        if (may_rotate()) rotate();
        base::sleep_ns(random_.any_size(20'000'000));
    }
    for (auto& file : files_) {
        if (file.closing.joinable()) file.closing.join();
    }
    if (scenario_.end == Scenario::End::close) close_all();
    if (scenario_.end == Scenario::End::abandon) {
        for (auto& file : files_) {
            if (!file.closed) file.writer->abandon();
        }
    }
}

// If there are several files the worst status counts: a row is in one of them.
void Owner::ask() {
    auto const asked_ns = base::monotonic_ns();
    std::uint64_t lag_ns = 0, age_ns = 0;
    for (auto const& file : files_) {
        if (file.closed) continue;
        auto const status = file.writer->status();
        lag_ns = std::max(lag_ns, status.durable_lag_ns);
        if (status.units_not_durable > 0) age_ns = std::max(age_ns, status.units_oldest_age_ns);
    }
    promises_.status_said(asked_ns, lag_ns);
    promises_.status_said_of_units(asked_ns, age_ns);
}

bool Owner::may_rotate() const {
    if (rotations_ >= scenario_.rotations || world_.turns() < next_rotation_) return false;
    auto const is_closed = [](OpenFile const& file) { return file.closed; };
    return std::all_of(files_.begin(), std::prev(files_.end()), is_closed);
}

void Owner::rotate() {
    ++rotations_;
    next_rotation_ = world_.turns() + random_.any_size(2 * scenario_.turns_to_rotate);
    auto& before = files_.back();
    promises_.files.push_back({path_of_file(scenario_.path, promises_.files.size())});
    try {
        auto next = before.writer->create_next(promises_.files.back().path, scenario_.options);
        promises_.files.back().created = true;
        before.writer->continue_in(*next);
        handle_ = next->handle();
        files_.push_back({std::move(next), promises_.files.size() - 1});
    } catch (base::Error const& error) {
        world_.note(5);
        rotations_ = scenario_.rotations;
        if (!promises_.files.back().created) promises_.files.pop_back();
        return;
    }
    before.closing = base::Thread([this, &before] { close(before); });
}

void Owner::close(OpenFile& file) {
    promises_.files[file.number].close_begun = true;
    for (int i = 0; i < 3 && !file.closed; ++i) {
        try {
            file.writer->close(5 * base::kSecondNs);
            promises_.files[file.number].closed = true;
            if (promises_.files.size() > 1) note_content(promises_.files[file.number], "when it was closed");
            file.closed = true;
        } catch (base::Error const& error) {
            world_.note(2);
        }
    }
}

void Owner::close_all() {
    promises_.close_begun = true;
    for (auto& file : files_) {
        if (!file.closed) close(file);
    }
    promises_.closed = std::ranges::all_of(promises_.files, &FilePromise::closed);
}

void Owner::note_content(FilePromise& file, char const* when) {
    auto const path = file.path;
    auto const number = static_cast<std::size_t>(&file - promises_.files.data());
    World::Answering const answering(world_);
    try {
        auto const reader = dataset::Reader::open(path);
        World::Undivided const undivided(world_);
        promises_.files[number].content = read_all(
            *reader, [&](std::string const& text) { world_.blame(fmt::format("{}, {}: {}", path, when, text)); });
    } catch (base::Error const& error) {
        world_.blame(fmt::format("{}, {}: it cannot be read: {}", path, when, error.what()));
    }
}

std::unique_ptr<dataset::Writer> Owner::resume(Blame const& blame) {
    while (true) {
        auto const file = promises_.files.back();
        try {
            auto writer = try_to_resume(file.path);
            promises_.files.back().created = true;
            return writer;
        } catch (base::SystemError const& error) {
            world_.note(4); // for example a full disk
            return nullptr;
        } catch (base::Error const& error) {
            World::Answering const answering(world_);
            bool const is_unfinished = file.created && !file.close_begun;
            if (is_unfinished && promises_.created) blame(fmt::format("{}: {}", file.path, error.what()));
            if (file.created || promises_.files.size() == 1 || dataset::exists(file.path)) return nullptr;
        }
        promises_.files.pop_back(); // it never existed
    }
}

std::unique_ptr<dataset::Writer> Owner::try_to_resume(std::string const& path) {
    try {
        return dataset::Writer::resume(path, std::nullopt, scenario_.options);
    } catch (base::UsageError const& error) {
        if (!recover_earlier()) throw;
    }
    return dataset::Writer::resume(path, std::nullopt, scenario_.options);
}

bool Owner::recover_earlier() {
    bool found = false;
    for (std::size_t i = 0; i + 1 < promises_.files.size(); ++i) {
        auto const path = promises_.files[i].path;
        if (!dataset::RunPlace(path).has_journal()) continue;
        promises_.files[i].close_begun = true;
        dataset::recover(path);
        found = true;
    }
    return found;
}

} // namespace thalweg::simulator
