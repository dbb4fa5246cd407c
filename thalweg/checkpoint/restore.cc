#include "thalweg/checkpoint/restore.h"

#include <cerrno>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/parallel.h"
#include "thalweg/base/thread.h"
#include "thalweg/checkpoint/candidates.h"
#include "thalweg/checkpoint/head.h"
#include "thalweg/checkpoint/page_reader.h"
#include "thalweg/checkpoint/ranks.h"
#include "thalweg/format/hdf5/ours/header.h"

namespace thalweg::checkpoint {
namespace {

Json binary(Bytes const& bytes) {
    auto const* const begin = reinterpret_cast<std::uint8_t const*>(bytes.data());
    return Json::binary({begin, begin + bytes.size()});
}

Bytes bytes_of(Json const& said) {
    auto const& binary = said.get_binary();
    auto const* const begin = reinterpret_cast<std::byte const*>(binary.data());
    return {begin, begin + binary.size()};
}

// Looks for checkpoints, the newest first. On rank 0.
class Search {
  public:
    explicit Search(std::string path) : candidates_(find_candidates(path)), path_(std::move(path)) {}

    // Returns the next one whose record is sound; throws if there are no more.
    Json next() {
        while (next_ < candidates_.files.size()) {
            auto const& path = candidates_.files[next_++];
            THALWEG_ASSERT(others_ < next_, "each file is looked at once");
            try {
                auto const file = storage::open_file_storage(path, storage::OpenMode::read_only);
                if (!is_checkpoint(*file)) {
                    ++others_;
                    add(path + " is no checkpoint, or what shows that it is one is damaged");
                    continue;
                }
                auto const record = read_record(*file);
                return {{"path", path},
                        {"record", binary(record.text)},
                        {"checksums", binary(record.checksums)},
                        {"problems", candidates_.problems}};
            } catch (base::DataError const& error) {
                add(error.what());
            } catch (base::SystemError const& error) {
                if (error.code != ENOENT && error.code != EIO) throw; // it is removed by now, or its device fails
                add(error.what());
            }
        }
        fail();
    }

    void add(std::string problem) { candidates_.problems.push_back(std::move(problem)); }

  private:
    [[noreturn]] void fail() const {
        if (others_ > 0 && others_ == candidates_.files.size() && others_ == candidates_.problems.size()) {
            base::fail_usage({path_ + " is no checkpoint", "it was written otherwise",
                              "name a file that was saved, or read it as a run (tw.open) or with h5py"});
        }
        auto why = candidates_.problems;
        why.insert(why.end(), candidates_.others.begin(), candidates_.others.end());
        base::fail_data({"no checkpoint is whole", fmt::format("{}", fmt::join(why, "; ")),
                         "with verify=False, parts that are whole can be read"});
    }

    Candidates candidates_;
    std::string path_;
    std::size_t next_ = 0;
    std::size_t others_ = 0;
};

// Returns sentences about what HDF5 needs to read the file.
std::vector<std::string> structure_damage(storage::Storage const& file) {
    try {
        check_head(file);
        format::hdf5::ours::check_seal(file);
        auto const end = format::hdf5::ours::end_of_file(file);
        if (auto const size = file.size(); size < end)
            return {fmt::format("{} had {} bytes, and has {}", file.path(), end, size)};
        return {};
    } catch (base::DataError const& error) {
        return {error.what()};
    } catch (base::SystemError const& error) { // the device cannot read it
        return {error.what()};
    }
}

// On which ranks all is sound, or what the first rank found that has found anything.
Json first_damage(std::vector<Json> const& all) {
    for (auto const& damage : all) {
        if (!damage.empty()) return damage.at(0);
    }
    return nullptr;
}

std::string restore_problem(std::string const& path) { return path + " cannot be restored"; }

} // namespace

void refuse_restore(Communicator& comm, std::string const& path, std::exception_ptr const& why) {
    refuse(comm, restore_problem(path), why);
}

State::State(std::string path, Record record, std::vector<std::string> problems, unsigned threads)
    : path_(std::move(path)), record_(std::move(record)), problems_(std::move(problems)), threads_(threads),
      file_(storage::open_file_storage(path_, storage::OpenMode::read_only)) {
    if (id_of(*file_) != record_.id) {
        base::fail_system({path_ + " cannot be restored", "another job has saved to it at this moment"}, EBUSY);
    }
}

StoredArray const& State::array(std::string const& name) const {
    std::vector<std::string> names;
    for (auto const& each : record_.arrays) {
        if (each.name == name) return each;
        names.push_back(each.name);
    }
    base::fail_usage({fmt::format("{} has no array '{}'", path_, name),
                      names.empty() ? "it has none" : fmt::format("it has {}", fmt::join(names, ", "))});
}

void State::read(std::string const& name, Box const& box, std::span<std::byte> out) const {
    auto const& stored = array(name);
    auto const what = fmt::format("'{}' of {} cannot be read", name, path_);
    if (box.start.size() != stored.shape.size() || box.shape.size() != stored.shape.size()) {
        base::fail_usage({what, fmt::format("start {} and shape {} do not have its {} axes", text_of(box.start),
                                            text_of(box.shape), stored.shape.size())});
    }
    for (std::size_t axis = 0; axis < stored.shape.size(); ++axis) {
        if (box.start[axis] > stored.shape[axis] || box.shape[axis] > stored.shape[axis] - box.start[axis]) {
            base::fail_usage({what, fmt::format("{} is not within its shape {}", box.text(), text_of(stored.shape))});
        }
    }
    auto const element_bytes = model::size_bytes(stored.scalar);
    if (out.size() != box.count() * element_bytes) {
        base::fail_usage({what, fmt::format("{} bytes are wanted, and there is room for {}",
                                            box.count() * element_bytes, out.size())});
    }
    if (out.empty()) return;
    Memory const memory{box, out.data(), packed_strides(box.shape, element_bytes)};
    auto const readings = readings_of(stored);
    base::parallel_for(readings.size(), threads_, [&](std::size_t i) { read_into(*file_, readings[i], memory); });
}

std::vector<std::string> State::find_damage(int rank, int ranks, std::function<void(double)> const& progress) const {
    std::vector<Reading> all;
    for (auto const& stored : record_.arrays) {
        auto const more = readings_of(stored);
        all.insert(all.end(), more.begin(), more.end());
    }
    auto const first = all.size() * static_cast<std::size_t>(rank) / static_cast<std::size_t>(ranks);
    auto const end = all.size() * (static_cast<std::size_t>(rank) + 1) / static_cast<std::size_t>(ranks);
    std::vector<std::string> found;
    if (rank == 0) found = structure_damage(*file_);
    base::Mutex mutex;
    std::size_t done = 0;
    base::parallel_for(end - first, threads_, [&](std::size_t i) {
        auto damage = why_damaged(*file_, all[first + i]);
        base::Lock const lock(mutex);
        if (!damage.empty()) found.push_back(std::move(damage));
        if (progress) progress(static_cast<double>(++done) / static_cast<double>(end - first));
    });
    return found;
}

State restore(std::string const& path, Communicator& comm, RestoreOptions const& options) {
    auto const problem = restore_problem(path);
    std::optional<Search> search; // rank 0's
    while (true) {
        auto const found = agree(
            comm, problem, [&] { return said_path(path); },
            [&](auto const& paths) {
                check_same_path(paths);
                if (!search) search.emplace(path);
                return search->next();
            });
        std::unique_ptr<State> state;
        auto const damage = agree(
            comm, problem,
            [&]() -> Json {
                auto const file = found.at("path").get<std::string>();
                auto record = from_bytes({bytes_of(found.at("record")), bytes_of(found.at("checksums"))}, file);
                state = std::make_unique<State>(file, std::move(record),
                                                found.at("problems").get<std::vector<std::string>>(), options.threads);
                return options.verify ? state->find_damage(comm.rank(), comm.size()) : std::vector<std::string>();
            },
            first_damage);
        if (damage.is_null()) return std::move(*state);
        if (search) search->add(damage.get<std::string>());
    }
}

} // namespace thalweg::checkpoint
