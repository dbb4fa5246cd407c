#include "tests/simulator/worker.h"

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/run/attach.h"

namespace thalweg::simulator {

void Worker::work(std::string const& handle) {
    try {
        auto const run = dataset::attach(handle, scenario_.options.write.seal_threads);
        if (scenario_.options.keys_per_group > 0) return work_in_groups(run);
        if (random_.chance(scenario_.share_of_units)) return work_in_units(run);
        auto const producers = random_.between(1, 3);
        for (std::uint64_t i = 0; i < producers; ++i) // each in the file that is the newest by then
            produce(i == 0 ? run : dataset::attach(handle, scenario_.options.write.seal_threads));
    } catch (base::Error const& error) {
        world_.note(3);
        // A worker with units follows from file to file, even if a file is closed at that moment.
        bool const is_told = std::string(error.what()).find("was ended by its creator") != std::string::npos;
        if (is_told && is_of_units_ && !promises_.close_begun) world_.blame(error.what());
    }
}

void Worker::work_in_units(std::shared_ptr<dataset::OpenRun> const& run) {
    dataset::WorkUnits units(run);
    is_of_units_ = true;
    for (std::uint64_t i = 0; i < scenario_.appends; ++i) {
        auto const key = first_key_ + static_cast<std::int64_t>(random_.below(scenario_.keys));
        if (scenario_.options.nodes.rules.keys_together > 0 && random_.chance(0.5) && !units.take(key)) continue;
        auto const who = promises_.next_who++;
        promises_.units[who].key = key;
        promises_.units[who].node = node_;
        try {
            auto unit = units.begin(key, std::string(random_.below(100), 's'));
            for (auto pieces = random_.between(1, 3); pieces > 0; --pieces) append_to(unit, who);
            if (random_.chance(0.3)) base::sleep_ns(random_.any_size(10'000'000));
            end(unit, {who});
        } catch (base::SystemError const& error) {
            wait_for_room(error);
        }
    }
    units.finish();
}

void Worker::wait_for_room(base::SystemError const& error) {
    auto const& weather = scenario_.weather;
    if (!base::is_no_space(error.code) || weather.disk_full_until_ns == kNever) throw error;
    world_.note(6);
    base::sleep_ns(random_.any_size(100'000'000));
    if (world_.time_ns() < weather.disk_full_until_ns || ++refused_ < 300) return;
    // A committer that gets no turn cannot allocate, and memory is another matter.
    bool const may_stay = weather.freeze_chance > 0 || weather.freeze_turn != kNever ||
                          scenario_.options.nodes.nodes > 1 || weather.memory_bytes != Weather{}.memory_bytes;
    if (!may_stay) world_.blame(std::string("the disk has room again, and rows are refused: ") + error.what());
    throw error;
}

void Worker::work_in_groups(std::shared_ptr<dataset::OpenRun> const& run) {
    dataset::WorkUnits units(run);
    is_of_units_ = true;
    for (std::uint64_t i = 0; i < scenario_.appends; ++i) {
        auto const number = scenario_.first_group + static_cast<std::int64_t>(random_.below(scenario_.groups()));
        if (random_.chance(0.7) && units.is_group_committed(number)) continue; // or as a process that has not looked
        auto group = units.begin_group(number);
        auto const tries = fill_group(group, number);
        if (random_.chance(0.3)) base::sleep_ns(random_.any_size(10'000'000));
        end(group, tries);
    }
    units.finish();
}

// Every group has at least one unit, and each unit a row, so that the file shows whether the unit counts.
std::vector<std::uint64_t> Worker::fill_group(dataset::WorkUnit& group, std::int64_t number) {
    std::vector<std::uint64_t> tries;
    auto const per_group = static_cast<std::int64_t>(scenario_.options.keys_per_group);
    auto const last = (number + 1) * per_group - 1;
    for (auto key = number * per_group; key <= last; ++key) {
        if (random_.chance(0.3) && !(key == last && tries.empty())) continue;
        auto const who = promises_.next_who++;
        tries.push_back(who);
        promises_.units[who].key = key;
        promises_.units[who].group = tries.front();
        group.next_key(key, std::string(random_.below(100), 's'));
        for (auto pieces = random_.between(1, 3); pieces > 0; --pieces) append_to(group, who);
    }
    return tries;
}

void Worker::append_to(dataset::WorkUnit& unit, std::uint64_t who) {
    auto const table = random_.below(scenario_.schema.tables.size());
    auto& rows = promises_.units[who].rows[table];
    auto const count = random_.between(1, scenario_.rows);
    auto& producer = unit[scenario_.schema.tables[table].name];
    Rows const data(producer.columns(), table, who, rows, count);
    rows += count;
    producer.append(count, data.spans());
}

void Worker::end(dataset::WorkUnit& unit, std::vector<std::uint64_t> const& tries) {
    using State = UnitPromise::State;
    auto const note = [&](State state) {
        for (auto const who : tries) promises_.units[who].state = state;
    };
    if (random_.chance(0.2)) {
        unit.drop();
        return note(State::dropped);
    }
    note(State::committing);
    note(unit.commit() ? State::committed : State::dropped);
    for (auto const who : tries) promises_.units[who].committed_ns = base::monotonic_ns();
}

void Worker::produce(std::shared_ptr<dataset::OpenRun> const& run) {
    auto const table = random_.below(scenario_.schema.tables.size());
    dataset::Producer producer(run, table);
    auto const who = promises_.next_who++;
    promises_.producers[who].table = table;
    promises_.producers[who].node = node_;
    auto const appends = random_.below(scenario_.appends + 1);
    for (std::uint64_t i = 0; i < appends; ++i) {
        auto const rows = random_.between(1, scenario_.rows);
        append(producer, table, who, rows);
        if (random_.chance(0.5)) base::sleep_ns(random_.any_size(10'000'000));
    }
    if (random_.chance(0.8)) producer.finish();
}

void Worker::append(dataset::Producer& producer, std::uint64_t table, std::uint64_t who, std::uint64_t rows) {
    auto const first = promises_.producers[who].begun;
    promises_.append_begins(who, rows);
    for (std::uint64_t taken = 0; taken < rows;) {
        Rows const data(producer.columns(), table, who, first + taken, rows - taken);
        auto const before = producer.rows();
        try {
            producer.append(rows - taken, data.spans());
        } catch (base::SystemError const& error) {
            if (base::is_no_space(error.code)) {
                promises_.append_returned(who, producer.rows() - before, base::monotonic_ns());
                taken += producer.rows() - before;
            }
            wait_for_room(error);
            continue;
        }
        promises_.append_returned(who, rows - taken, base::monotonic_ns());
        return;
    }
}

} // namespace thalweg::simulator
